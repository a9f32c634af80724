"""The page of scripts/report: reads profiles, has their claims judged, draws, and writes HTML and markdown."""
