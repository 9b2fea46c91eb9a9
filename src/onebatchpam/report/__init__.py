"""The report: one page of HTML that shows what a clustering has found, and needs no other file.

    study     the rows of the page and their numbers: one pass over the data, and a sample
    columns   what sets a cluster apart from all rows, column by column
    rows      rows as people look at them: tables, images, series, text
    alerts    what a reader should know before believing the rest
    layout    a map of the rows, the tree of the medoids, and their places in pictures
    figures   the numbers of a study as the coordinates of drawings
    page      all of it filled into the templates

The drawings are made by the templates in `templates/`, as SVG that follows the colours of the page. Text from data is
escaped. The page has at most a few thousand rows, however many there are.

In: a fitted model and its data. Out: a page.
"""

from onebatchpam.report.page import make_environment, render, write_report
from onebatchpam.report.rows import check_images, check_show_as
