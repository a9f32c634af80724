"""Writes a page about profiles of `qkprof run --out`: the verdicts on the claims with their evidence, then plots.

  scripts/report profiles/h200/claims.json --out report.html --markdown report.md
The page is one file that needs no network; the markdown, for a pull request, has the verdicts and the tables. They are
written whole or not at all. Exit codes: 0; 2 usage or input; 4 what it needs cannot be had on this machine.
"""

import argparse
import os

import jinja2
import script

from . import palette, reader, verdicts
from .sections import Report

FOLDER = os.path.dirname(os.path.realpath(__file__))


def render(template, report, judgement, **more):
    html = template.endswith(".html.jinja")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(FOLDER), autoescape=html, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.get_template(template).render(
        report=report, sections=report.sections(), judgement=judgement, palette=palette,
        names=[os.path.basename(path) for path in report.profiles.paths],
        warnings=report.warnings() + [w for w in judgement.warnings if w not in report.warnings()], **more)


def body():
    parser = argparse.ArgumentParser(prog="report", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", metavar="PROFILE", nargs="+", help="of one device")
    parser.add_argument("--out", metavar="FILE", default=os.path.join(script.BUILD, "report.html"),
                        help="the page (build/report.html)")
    parser.add_argument("--markdown", metavar="FILE", help="markdown beside it")
    parser.add_argument("--qkprof", metavar="PATH", default=script.PROGRAM,
                        help="the program, which judges the claims (build/qkprof)")
    own = parser.parse_args()
    os.makedirs(script.BUILD, exist_ok=True)
    inputs = {os.path.realpath(path) for path in own.profiles}
    for path in filter(None, (own.out, own.markdown)):
        script.check_destination(path)
        if os.path.realpath(path) in inputs:
            raise script.Failure(2, f"{path} is one of the profiles: name another file for what is written.")
    report = Report(reader.read(own.profiles))
    judgement = verdicts.judge(own.qkprof, own.profiles)
    files = [(own.out, render("page.html.jinja", report, judgement))]
    if own.markdown:
        files.append((own.markdown, render("report.md.jinja", report, judgement)))
    for path, text in files:
        script.write_whole(path, text)
        print(path)
    return 0


if __name__ == "__main__":
    script.main("report", body)
