#!/usr/bin/env python3
"""The HTML report as a user works with it, in headless Chromium, from a file and without a network.

html_report_test.py EXPORT_MAKER
"""
import os

import export_files
from export_files import ExportFiles

READY = "document.documentElement.dataset.ready === 'yes'"
FRAMES = "[...document.querySelectorAll('#main .frame')].map(frame => frame.getAttribute('name'))"
WIDTH = ("Number([...document.querySelectorAll('#main .frame')].find(frame => frame.getAttribute('name') === '%s')"
         ".getAttribute('width'))")


class HtmlReport(ExportFiles):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_browser()

    def open(self, name):
        page = self.browser.open("file://" + self.path(name))
        page.wait_for(READY)
        self.addCleanup(lambda: self.assertEqual(page.complaints, []))
        return page

    def click(self, page, selector):
        page.evaluate(f"document.querySelector({selector!r}).click()")

    def press(self, page, kind, x, y):
        page.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def test_loads_nothing_from_anywhere(self):
        page = self.open("sample.html")
        self.assertEqual(page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)"
                                       ".filter(name => !name.startsWith('data:'))"), [])
        refused = page.evaluate("fetch('" + self.base + "/sample.txt').then(() => 'loaded', () => 'refused')")
        self.assertEqual(refused, "refused")
        self.assertTrue(any("Content Security Policy" in text for text in page.complaints), page.complaints)
        page.complaints.clear()

    def test_counters_are_lanes(self):
        page = self.open("gpu.html")
        lanes = page.evaluate("[...document.querySelectorAll('#lane-names button.extra')].map(lane => [lane.textContent, lane.title])")
        self.assertEqual([text for text, _ in lanes], ["GPU 0 stream 13", "GPU 0 stream 7 (default)", "GPU 0 utilisation",
                                                       "GPU 0 memory used", "GPU 0 power"])
        self.assertEqual(lanes[3][1], "GPU 0 (Model X <80GB>): memory used, mean 30.0 GiB, most 50.0 GiB of 80.0 GiB")
        self.assertIn("most 320.0 W", lanes[4][1])
        box = page.evaluate("(({left, top, width}) => [left, top, width])(document.querySelector('#lane-canvas').getBoundingClientRect())")
        self.press(page, "mouseMoved", box[0] + 0.5 * box[2], box[1] + 18 + 3 * 24 + 12)
        self.assertIn("utilisation: 0 %", page.evaluate("document.querySelector('#tip').textContent"))

    def test_gpu_time(self):
        page = self.open("gpu.html")
        self.click(page, "[data-view=gpu]")
        heads = page.evaluate("[...document.querySelectorAll('#main h2')].map(head => head.textContent)")
        self.assertRegex(heads[0], r"GPU 0 \(Model X <80GB>\): no kernel in [\d.]+ % of [\d.]+ ms")
        self.assertEqual(heads[1:], ["GPU time by kernel", "GPU time by Python function", "GPU time by nn.Module"])
        rows = page.evaluate("""[...document.querySelectorAll('#main table')].map(table =>
            [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent)))""")
        self.assertEqual(rows[0][0][1:], ["11.4 ms", "60", "190 µs", "190 µs", "gemm_kernel<float>"])
        self.assertEqual(rows[1][0][-1], "nn.Module: Linear_0 (layers.3)")
        self.assertIn("Trainer.step", {row[-1].split("/")[0] for row in rows[1]})
        self.assertEqual(len(page.evaluate("[...document.querySelectorAll('.gpu-bar i')].map(part => part.title)")), 5)
        self.assertEqual(self.open("sample.html").evaluate("document.querySelector('[data-view=gpu]').hidden"), True)

    def test_header_tells_the_run(self):
        page = self.open("sample.html")
        self.assertEqual(page.evaluate("document.title"), "python3 train.py --epochs 3 · ptrace-prof")
        facts = dict(page.evaluate("[...document.querySelectorAll('#facts div')].map(pair => "
                                   "[...pair.children].map(cell => cell.textContent))"))
        self.assertEqual(facts["samples"], "219")
        self.assertEqual(facts["torn"], "1.83 %")
        self.assertEqual(facts["overhead"], "0.50 % of one core")
        self.assertIn("4 stacks changed while they were read without a stop", page.evaluate("document.querySelector('#cautions').textContent"))

    def test_flame_icicle_and_zoom(self):
        page = self.open("sample.html")
        self.assertEqual(sorted(page.evaluate(FRAMES)).count("walk"), 3)
        top = "Number(/,([\\d.]+)/.exec(document.querySelector('#main .frame').getAttribute('transform'))[1])"
        flame_root = page.evaluate(top)
        self.click(page, "[data-view=icicle]")
        self.assertEqual(page.evaluate(top), 0)
        self.assertGreater(flame_root, 0)
        before = page.evaluate(WIDTH % "Condition.wait")
        page.evaluate("[...document.querySelectorAll('#main .frame')].find(frame => frame.getAttribute('name') === "
                      "'Condition.wait').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.assertGreater(page.evaluate(WIDTH % "Condition.wait"), 5 * before)
        details = page.evaluate("document.querySelector('#details').textContent")
        self.assertIn("12.79 % · 28 samples", details)
        self.assertIn("threading.py:280", details)
        self.assertIn("Lines: 320 12.79 %", details)

    def test_search(self):
        page = self.open("sample.html")
        page.evaluate("(() => { const box = document.querySelector('#search'); box.value = 'LINEAR'; "
                      "box.dispatchEvent(new Event('input')); })()")
        page.wait_for("document.querySelector('#matched').textContent === '45.66 % match'")
        page.wait_for("[...document.querySelectorAll('#main .frame rect')].filter(rect => "
                      "rect.getAttribute('fill') === MATCHED).length === 1")

    def test_a_thread_alone(self):
        page = self.open("sample.html")
        page.evaluate("(() => { const list = document.querySelector('#threads'); "
                      "list.value = [...list.options].find(option => option.text.includes('4001')).value; "
                      "list.dispatchEvent(new Event('change')); })()")
        self.assertEqual(set(page.evaluate(FRAMES)), {"all", "loader (tid 4001)", "load"})

    def test_a_range_of_the_timeline(self):
        page = self.open("sample.html")
        box = page.evaluate("(() => { const box = document.querySelector('#lane-canvas').getBoundingClientRect(); "
                            "return [box.left, box.top, box.width]; })()")
        y = box[1] + 30
        self.press(page, "mousePressed", box[0] + box[2] * 0.10, y)
        self.press(page, "mouseMoved", box[0] + box[2] * 0.15, y)
        self.press(page, "mouseMoved", box[0] + box[2] * 0.19, y)
        self.press(page, "mouseReleased", box[0] + box[2] * 0.19, y)
        page.wait_for("document.querySelector('#range').textContent.includes('–')")
        shown = set(page.evaluate(FRAMES))  # 40 to 76 ms: step without linear, and the loader
        self.assertIn("Trainer.step", shown)
        self.assertIn("load", shown)
        self.assertNotIn("Linear.forward", shown)
        self.click(page, "#range button")
        self.assertIn("Linear.forward", page.evaluate(FRAMES))

    def test_table_and_sandwich(self):
        page = self.open("sample.html")
        self.click(page, "[data-view=table]")
        rows = page.evaluate("[...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => "
                             "cell.firstChild.nodeName === 'I' ? cell.textContent : cell.firstChild.textContent))")
        self.assertEqual(rows[0], ["45.66 %", "100", "45.66 %", "100", "Linear.forward"])
        self.assertIn(["4.57 %", "10", "4.57 %", "10", "walk"], rows)  # recursion counts once
        self.assertAlmostEqual(sum(int(row[1]) for row in rows), 219)
        page.evaluate("[...document.querySelectorAll('tbody tr')].find(row => row.textContent.includes('Trainer.step')).click()")
        graphs = page.evaluate("[...document.querySelectorAll('#main .graph')].map(graph => "
                               "[...graph.querySelectorAll('.frame')].map(frame => frame.getAttribute('name')))")
        self.assertEqual(graphs, [["Trainer.step", "Trainer.train", "<module>"], ["Trainer.step", "Linear.forward"]])

    def test_exact_calls(self):
        page = self.open("calls.html")
        facts = dict(page.evaluate("[...document.querySelectorAll('#facts div')].map(pair => "
                                   "[...pair.children].map(cell => cell.textContent))"))
        self.assertEqual(facts["calls"], "7")
        self.click(page, "[data-view=table]")
        rows = page.evaluate("[...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => "
                             "cell.firstChild.nodeName === 'I' ? cell.textContent : cell.firstChild.textContent))")
        rows = {row[-1]: row[:-1] for row in rows}
        self.assertEqual(rows["load"], ["45.98 %", "4.99 µs", "45.98 %", "4.99 µs", "5.00 µs", "5.00 µs", "1"])
        self.assertEqual(rows["fib"], ["2.27 %", "0.25 µs", "2.41 %", "0.26 µs", "0.28 µs", "0.30 µs", "2"])
        self.assertEqual(rows["<module>"][-1], "0")
        self.click(page, "[data-view=flame]")
        self.assertEqual(sorted(page.evaluate(FRAMES)).count("fib"), 2)
        page.evaluate("[...document.querySelectorAll('#main .frame')].find(frame => frame.getAttribute('name') === "
                      "'Trainer.train').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.assertIn("9.09 % · 1.00 µs · 1 calls", page.evaluate("document.querySelector('#details').textContent"))
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#lane-names button')].length"), 2)

    def test_idle_time_can_be_hidden(self):
        page = self.open("sample.html")
        self.assertIn("Condition.wait", page.evaluate(FRAMES))
        self.click(page, "#hide-idle")
        self.assertNotIn("Condition.wait", page.evaluate(FRAMES))

    def test_a_hostile_trace_is_only_text(self):
        page = self.open("hostile.html")
        for view in ("flame", "icicle", "table", "sandwich"):
            self.click(page, f"[data-view={view}]")
            self.assertEqual(page.evaluate("document.images.length"), 0)
            links = page.evaluate("[...document.querySelectorAll('[href], [src], [action]')].map(one => one.outerHTML)"
                                  ".filter(text => /javascript:|data:text/i.test(text))")
            self.assertEqual(links, [])
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"), 0, view)
        self.assertEqual(page.evaluate("document.scripts.length"), 3)
        self.assertIn("</script><script>", page.evaluate("document.title"))
        self.assertTrue(page.evaluate("document.title").endswith("ptrace-prof"))

    def test_a_long_run(self):
        page = self.open("long.html")
        self.assertEqual(page.evaluate("trace.threads[0].samples"), 60000)
        self.assertEqual(page.evaluate("callTree().value"), 60000)
        page.evaluate("change({range: [1e6, 2e6]})")
        self.assertAlmostEqual(page.evaluate("callTree().value"), 1000, delta=2)

    def test_both_themes_draw(self):
        page = self.open("sample.html")
        folder = os.environ.get("PP_SCREENSHOTS")
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'; draw()")
            self.assertTrue(page.evaluate("document.querySelectorAll('#main .frame').length > 8"))
            if folder:
                page.screenshot(os.path.join(folder, f"report-{theme}.png"))


if __name__ == "__main__":
    export_files.main(export_files.CHROMIUM)
