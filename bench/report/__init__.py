"""Report: what the records of an experiment say, beside the figures of the paper.

`scores.py` turns records into relative times and objectives, as the paper defines them; `paper.py` reads the paper's
own figures from paper.toml. `tables.py` and `figures.py` show both, `page.py` puts all of it on one page, and
`report.py` has the commands. `palette.py` has the colour and marker of each method, in these pictures and the others.

In: the records in bench/results.
Out: tables, figures and a page beside the records. They can be made again at any time, so they are not kept in git.
"""
