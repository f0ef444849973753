"""A growing text is Markdown from its first letter, and nothing moves when it ends."""

from harness import NARROW, Bridge, BrowserTest, until
from test_page import REPORT

# Texts whose blocks are decided late: blank lines in lists, a number that becomes an item, unfinished fences, tables and quotes.
TEXTS = [
    REPORT, "1. a\n\n2. b\n\n\n3. c\n\n   d\n\ne", "- a\n\n- b\n  - c\n\n    d\n- e\nf\n\n# g\nh", "1. one\n\n2 two\n\n3) three\n",
    "```py\na = 1\n\n# no heading\n```\nb\n\n~~~\n```\n~~~\nc", "~~~~ sh\n~~~\nend", "> a\n> - b\n>\n> c\nd\n> e", "a | b\n-|-\nc | d\ne\n\n| x |\n|---|\n| y |\n| z",
    "|a|\n|-\n|b|", "a\n---\n***\n* * *\n- - -\n-", "#\n# a\n#b\n## c ##\n", "- [ ] a\n- [x] b\n\n  ```\n  c\n\n  d\n  ```\n- e", "* a\n+ b\n- c\n\n\n- d\n\n\n\n1. e",
    "a\r\n\r\n- b\r\n\r\n- c\r\n\r\n```\r\nd\r\n```", "שלום\n\n1. אחת\n2. שתיים\n\n> ציטוט\n\nend", "  \n\n   a\n \n\tb\n", "- a\n\n \n  b\n- c", "1. a\n\n1", "- a\n\n  ",
]
PIECES = ["\n", "\n", "\n\n", "- ", "1. ", "2. ", "  ", "    ", "> ", "```", "~~~", "|", "|-|-|", "|a|b|\n", "# ", "a", "b c", "**", "*", "`", "~~", "[a](https://x.y)",
          "![a](https://x.y)", "---", "- [ ] ", "\r\n", "\\"]

# Checks each prefix of each text, growing by a letter or a piece: the display equals that of the prefix alone with its last block
# completed, and settled elements stay the same to the end.
CHECK = """const { Streamed, completed } = m, { markdown } = await import("/phone/markdown.js");
    const check = (beginnings) => {
      const shown = document.createElement("div"), alone = document.createElement("div"), streamed = new Streamed(shown), settled = [];
      for (const text of beginnings) {
        streamed.draw(text);
        const whole = text.replaceAll("\\r\\n", "\\n");
        alone.replaceChildren(markdown(whole.slice(0, streamed.from) + completed(whole.slice(streamed.from))));
        if (!shown.isEqualNode(alone)) return [text, shown.innerHTML, alone.innerHTML];
        for (let at = 0; at < streamed.settled; at += 1) {
          settled[at] ??= [shown.children[at], shown.children[at].cloneNode(true)];
          if (settled[at][0] !== shown.children[at] || !settled[at][1].isEqualNode(shown.children[at])) return [text, "a settled block was touched", at];
        }
      }
      const before = [...shown.children];
      streamed.end(beginnings.at(-1));
      alone.replaceChildren(markdown(beginnings.at(-1)));
      if (before.slice(0, streamed.settled).some((child, at) => child !== shown.children[at]) || !shown.isEqualNode(alone)) return [beginnings.at(-1), "the end made a block anew"];
      return settled.length;
    };
    const texts = a[0].map((text) => Array.from({ length: text.length }, (_, size) => text.slice(0, size + 1)));
    let seed = 7;
    const next = (count) => (seed = (seed * 48271) % 2147483647) % count;
    for (let number = 0; number < 400; number += 1) {
      const beginnings = [""];
      while (beginnings.length < 30) beginnings.push(beginnings.at(-1) + a[1][next(a[1].length)]);
      texts.push(beginnings.slice(1));
    }
    const found = texts.map(check);
    return [found.filter((one) => typeof one !== "number"), found.reduce((sum, one) => sum + (typeof one === "number" ? one : 0), 0)];"""

COMPLETED = {
    "a **bo": "a **bo**", "a **bo*": "a **bo**", "a **bo**": "a **bo**", "a ~~b": "a ~~b~~", "run `ls": "run `ls`", "`a` **b": "`a` **b**", "`**` b": "`**` b",
    "2 ** 3": "2 ** 3", "a **b ": "a **b**", "**": "**", "***": "***", "a \\**b": "a \\**b", "x `": "x `", "a **b\nc": "a **b\nc", "```\na **b": "```\na **b",
    "> ```\n> a **b": "> ```\n> a **b", "|": "|", "| Na": "| Na\n|-|", "| Na | **No": "| Na | **No**\n|-|-|", "| a | b |\n": "| a | b |\n|-|-|", "|a|b|\n|-": "|a|b|\n|-|-|",
    "|a|b|\n|-|-|": "|a|b|\n|-|-|", "|a|b|\nc": "|a|b|\nc", "|a|\n|-|\n|**b": "|a|\n|-|\n|**b**",
}

# A long answer in many pieces, and the number of letters parsed for it.
LONG = """const { Streamed } = m; let text = "", longest = 0;
    const shown = document.createElement("div"), streamed = new Streamed(shown); document.body.append(shown);
    const settle = streamed.settle.bind(streamed);
    const block = (number) => `## Part ${number}\\n\\nIt has **words**, \\`code\\` and [links](https://example.com/${number}).\\n\\n- one\\n- two\\n\\n` +
      "| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n```sh\\necho " + number + "\\n```\\n\\n";
    let whole = ""; for (let number = 0; whole.length < 100000; number += 1) whole += block(number);
    const begun = performance.now();
    for (let at = 0; at < whole.length; at += 150) {
      streamed.draw(whole.slice(0, at + 150));
      longest = Math.max(longest, Math.min(at + 150, whole.length) - streamed.from);
    }
    const took = performance.now() - begun;
    streamed.end(whole); shown.remove();
    return [whole.length, longest, took];"""

KEEPS = """const { become } = m, { markdown } = await import("/phone/markdown.js");
    const shown = document.createElement("div"); document.body.append(shown);
    const show = (text) => become(shown, markdown(text));
    show("one *two*\\n\\n```\\n" + "line\\n".repeat(100)); 
    const [words, pre, button] = [shown.querySelector("em").firstChild, shown.querySelector("pre"), shown.querySelector("button")];
    Object.assign(pre.style, { maxHeight: "50px", overflow: "auto" }); pre.scrollTop = 40; button.focus(); getSelection().selectAllChildren(words.parentNode);
    show("one *two* three\\n\\n```\\n" + "line\\n".repeat(101) + "```\\n\\nEnd");
    const kept = [getSelection().toString(), shown.querySelector("pre") === pre, document.activeElement === button, shown.textContent.includes("three"),
      shown.lastChild.textContent, pre.textContent.split("line").length - 1];
    shown.remove(); return kept;"""


class Streamed(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()

    def module(self, name, script, *arguments):
        answer = self.browser.execute_async_script(
            f"const a = [...arguments], done = a.pop();"
            f"import('/phone/{name}').then(async (m) => {{ {script} }}).then((value) => done({{ value }}), (error) => done({{ error: String(error) }}))",
            *arguments)
        self.assertNotIn("error", answer)
        return answer["value"]

    def test_each_beginning_of_a_text_is_shown_as_what_it_is_and_what_is_settled_stays(self):
        self.page.open(self.relay.phone_url)
        wrong, settled = self.module("streamed.js", CHECK, TEXTS, PIECES)
        self.assertEqual(wrong[:3], [])
        self.assertGreater(settled, 300, "blocks are settled before the end")

    def test_the_last_block_is_completed_as_it_will_probably_be(self):
        self.page.open(self.relay.phone_url)
        self.assertEqual(dict(zip(COMPLETED, self.module("streamed.js", "return a[0].map(m.completed)", list(COMPLETED)))), COMPLETED)
        # The cost stays bounded for any length of the last line.
        took = self.module("streamed.js", """const begun = performance.now(); for (const piece of a[0]) m.completed(piece.repeat(65536 / piece.length));
            return performance.now() - begun""", ["`", "*", "**a", "~~", "|", "\\", "> ", " ", "`a", "|\n", "\n>"])
        self.assertLess(took, 1_000)

    def test_a_long_answer_costs_its_last_block_and_no_more(self):
        self.page.open(self.relay.phone_url)
        length, longest, took = self.module("streamed.js", LONG)
        self.assertGreater(length, 100_000)
        self.assertLess(longest, 400, "so many letters were read again at most")
        self.assertLess(took, 3_000)
        self.assertEqual(self.module("streamed.js", KEEPS), ["two", True, True, True, "End", 101])

    def test_a_table_and_a_fence_are_there_while_they_grow_and_the_end_moves_nothing(self):
        page = self.page
        run = Bridge.ask(self.relay, "How full is the disk?").open()
        page.open(self.relay.phone_url, NARROW, "light")
        page.open_chat(run.session)
        run.delta("## Disks\n\n| Name | Notes | Size | Mount | Kind |\n|---|---|---:|---|---|\n| first | none at all | 112 GB | /home | ")
        body = ".message.agent .markdown"
        page.says(f"{body} tbody td", "first")
        self.assertEqual(page.run("return document.querySelector('.message.agent .body').innerText.includes('|')"), False)
        page.picture("streaming-table-narrow-light")
        run.delta("btrfs |\n\nand then\n\n```sh\ndu -sh")
        page.says(f"{body} pre", "du -sh")
        # Words are not broken: a wide table scrolls, and the chat does not.
        broken = page.run("""return [...document.querySelectorAll(arguments[0])].flatMap((cell) => cell.textContent.split(" ").filter((word) => {
            const text = cell.firstChild, at = text.data.indexOf(word), range = document.createRange();
            range.setStart(text, at); range.setEnd(text, at + word.length); return range.getClientRects().length > 1; }))""", f"{body} :is(th, td)")
        self.assertEqual(broken, [])
        self.assertTrue(page.run("const table = document.querySelector('.table'); return table.scrollWidth > table.clientWidth"))
        self.assertLessEqual(page.run("const s = document.getElementById('scroller'); return s.scrollWidth - s.clientWidth"), 0)
        page.run("""window.drawn = [...document.querySelectorAll(arguments[0])]; window.height = document.querySelector(".message.agent .body").offsetHeight""", f"{body} > *")
        run.end("## Disks\n\n| Name | Notes | Size | Mount | Kind |\n|---|---|---:|---|---|\n| first | none at all | 112 GB | /home | btrfs |\n\nand then\n\n```sh\ndu -sh\n```")
        until(lambda: page.newest()["state"] == "final", "the run has ended")
        self.assertTrue(page.run("return window.drawn.length === 4 && window.drawn.every((block) => block.isConnected)"), "what was drawn stays")
        self.assertEqual(page.run("return document.querySelector('.message.agent .body').offsetHeight - window.height"), 0)
        page.theme("dark")
        page.picture("table-narrow-dark")
