"""Tests of the section of scripts/report that says which variant is the best at each size."""

import re
import unittest

from report import FAMILIES, Case, made_up

from report_page import best


class Best(Case):
    """The best variant at each size, beside the copy."""

    def section(self, profile):
        sections = self.report(profile).best_variants()
        self.assertEqual(len(sections), 1)
        return sections[0]

    def change(self, profile, start, time=None, **facts):
        """The measurements whose names begin so take that many microseconds, or have those facts."""
        for entry in profile["benchmarks"]:
            if entry["name"].startswith(start):
                entry |= {"real_time": time} if time is not None else {}
                entry |= facts if "variant" in entry else {}
        return profile

    def beside(self, profile, of, name, non_standard, parameters, time):
        """Adds a measurement like another with parameters of its own."""
        for entry in [e for e in profile["benchmarks"] if e["name"] == of]:
            entry = {**entry, "name": of + name, "real_time": time}
            profile["benchmarks"].append({**entry, "non_standard": non_standard, "parameters": parameters}
                                         if "variant" in entry else entry)

    def test_the_least_median_of_warm_calls_is_the_best(self):
        profile = self.change(made_up(), "fused_register/1x64x16x128/f32/warm", 2.0)
        self.change(profile, "fused_register/1x64x16x128/f32/cold", 0.001)
        self.change(profile, "copy/1x64x16x128/f32/warm", 1.5)
        section = self.section(profile)
        self.assertEqual([t.caption for t in section.tables], ["f32, warm, heads 16x128", "bf16, warm, heads 16x128"])
        rows = section.tables[0].rows
        self.assertEqual(len(rows), 16)
        self.assertEqual(rows[4], ["1.00 MiB", "1x64x16x128", "1.500 us", "fused_register", "2.000 us", "75.0%"])
        self.assertEqual({row[3] for row in rows[:4] + rows[5:]}, {"fused_tile_shared"})
        self.assertEqual(section.tables[0].titles, best.titles(False))
        # In the plot the copy at each size, the best at each, and again in its row.
        self.assertEqual([panel.data for panel in section.panels], [16 * 3, 16 * 3])
        names = [set(re.findall(r">([a-z_]+)(?: \(ceiling\))?</text>", panel.svg())) & set(FAMILIES)
                 for panel in section.panels]
        self.assertEqual(names, [{"copy", "fused_register", "fused_tile_shared"}, {"copy", "fused_tile_shared"}])
        _, markdown = self.page(self.file("made_up.json", profile))
        self.assert_says(markdown, "| 1.00 MiB | 1x64x16x128 | 1.500 us | fused_register | 2.000 us | 75.0% |")

    def test_what_was_not_standard_is_the_best_of_nothing_but_of_its_own_column(self):
        profile, name = made_up(), "fused_tile_shared/1x64x16x128/f32/warm"
        self.change(profile, name, 2.0, parameters={"programmatic": 1})
        self.change(profile, "fused_register/1x64x16x128/f32/warm", 2.5)
        self.beside(profile, name, "/threads:64", ["threads"], {"threads": 64, "programmatic": 0}, 1.0)
        self.beside(profile, name, "/programmatic:1", ["programmatic"], {"programmatic": 1}, 1.0)
        section = self.section(profile)
        self.assertEqual(section.tables[0].titles, best.titles(False))
        self.beside(profile, name, "/programmatic:0", ["programmatic"], {"programmatic": 0}, 2.25)
        for plain, time in (("fused_tile_shared/programmatic:0", "2.250 us"), ("fused_register", "2.100 us")):
            table_of = self.section(profile).tables[0]
            self.assertEqual(table_of.titles, best.titles(True))
            self.assertEqual(table_of.rows[4][3:5], ["fused_tile_shared", "2.000 us"])
            self.assertEqual(table_of.rows[4][6:8], [plain, time])
            self.change(profile, "fused_register/1x64x16x128/f32/warm", 2.1)
        self.assertEqual(self.section(profile).tables[1].titles, best.titles(False))
        self.assertIn("Not shown: 2 measurement(s) with parameters that are not the standard.",
                      self.report(profile).warnings())

    def test_what_is_unknown_is_left_out_and_said(self):
        profile = made_up()
        for start in ("copy/1x8x", "fused_tile_shared/1x4x"):
            self.change(profile, start, real_time_reason="it was not timed")
            for entry in profile["benchmarks"]:
                entry["real_time"] = None if entry["name"].startswith(start) else entry["real_time"]
        for variant in FAMILIES:
            if variant != "copy":
                self.change(profile, f"{variant}/1x16x16x128/f32/warm", correct=False)
        section = self.section(profile)
        rows = section.tables[0].rows
        self.assertEqual(rows[0][3], "fused_register")
        self.assertEqual((rows[1][2], rows[1][5]), ("unknown", "unknown"))
        self.assertEqual(rows[2][3:], ["unknown"] * 3)
        self.assertEqual(section.panels[0].data, 15 + 15 * 2)
        self.assertIn("f32, warm, heads 16x128: no time of fused_tile_shared, copy: it was not timed", section.notes)

    def test_one_size_is_no_section(self):
        profile = made_up()
        profile["benchmarks"] = [e for e in profile["benchmarks"] if "/1x64x16x128/" in e["name"]]
        self.assertEqual(self.report(profile).best_variants(), [])
        profile["benchmarks"] += [e for e in made_up()["benchmarks"] if "/1x4x16x128/" in e["name"] and "/cold" in e["name"]]
        self.assertEqual(self.report(profile).best_variants(), [])
        self.assertNotIn('id="best"', self.page(self.file("one.json", profile))[0])


if __name__ == "__main__":
    unittest.main()
