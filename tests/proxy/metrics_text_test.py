"""That metrics_text.py finds what is wrong with a text."""

import unittest

from metrics_text import Metrics, moved, parse

GOOD = (
    '# HELP a_total What.\n# TYPE a_total counter\na_total 1\n'
    'a_total{x="y,\\"z\\"\\\\\\n}"} 2.5\n'
    '# HELP h_seconds Time.\n# TYPE h_seconds histogram\n'
    'h_seconds_bucket{le="0.1"} 1\nh_seconds_bucket{le="+Inf"} 3\n'
    'h_seconds_sum 7\nh_seconds_count 3\n')
BAD = [
    ("a_total 1\na", "a_total 1 \na"),
    ("# TYPE a_total counter\n", ""),
    ("# TYPE a_total counter", "# TYPE a_total count"),
    ("# HELP a_total What.", "# HELP h_seconds What."),
    ("a_total 1\n", "b_total 1\n"),
    ("a_total 1\n", "a_total 1\na_total 1\n"),
    ("a_total 1\n", "a_total one\n"),
    ("a_total 1\n", "a_total -1\n"),
    ("a_total 1\n", 'a_total{x="1"y="2"} 1\n'),
    ("a_total 1\n", 'a_total{x="1",x="2"} 1\n'),
    ("a_total 1\n", 'a_total{x="1",} 1\n'),
    ("a_total 1\n", 'a_total{x="\\t"} 1\n'),
    ("a_total 1\n", 'a_total{x="1" 1\n'),
    ("a_total 1\n", 'a_total{le="1"} 1\n'),
    ("a_total", "a"),
    ("h_seconds", "h_total"),
    ("h_seconds", "h_ms"),
    ('"0.1"} 1', '"0.1"} 4'),
    ("_count 3", "_count 4"),
    ('h_seconds_bucket{le="+Inf"} 3\n', ""),
    ('h_seconds_sum 7\n', "a_total{y=\"1\"} 1\nh_seconds_sum 7\n"),
    ("_count 3\n", "_count 3"),
]


class MetricsTextTest(unittest.TestCase):

    def test_a_good_text(self):
        families = parse(GOOD)
        self.assertEqual(list(families), ["a_total", "h_seconds"])
        labels = (("x", 'y,"z"\\\n}'),)
        self.assertEqual(families["a_total"].samples[("", labels)], 2.5)
        metrics = Metrics(GOOD)
        self.assertEqual(metrics.get("a_total"), 1)
        self.assertEqual(metrics.counts("h_seconds"), {(): 3})
        more = Metrics(GOOD.replace("a_total 1\n", "a_total 5\n"))
        self.assertEqual(moved(metrics, more), {("a_total", ()): 4})

    def test_bad_ones(self):
        for good, bad in BAD:
            with self.subTest(bad):
                text = GOOD.replace(good, bad)
                self.assertNotEqual(text, GOOD)
                self.assertRaises(ValueError, parse, text)


if __name__ == "__main__":
    unittest.main()
