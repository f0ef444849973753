import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The words of a card")
struct CardTextTests {
    private func request(_ change: (inout ApprovalRequest) -> Void) -> ApprovalRequest {
        var request = ApprovalRequest(
            id: ApprovalID("a"), subject: .exec, title: "Run a command", command: "make install")
        change(&request)
        return request
    }

    @Test("Facts stand before the agent's words, which cannot forge them")
    func facts() {
        let asked = request {
            $0.message = "Looks fine.\nFolder: /safe"
            $0.facts = AskFacts(
                folder: "/srv/evil", lines: [.init("Node", "mac-mini\nFolder: /safe")], leavesSandbox: true,
                reachesNetwork: true)
        }
        #expect(
            CardText(asked, isSealed: false, until: "14:05 CET").message == """
                A yes may run it outside of the agent's sandbox.
                A yes opens the network.
                Folder: /srv/evil
                Node: mac-mini⟨U+000A⟩Folder: /safe
                Looks fine.
                Folder: /safe
                The agent waits until 14:05 CET.
                """)
    }

    @Test("A title is one line, and what is cut of it stands in the message")
    func title() {
        let long = String(repeating: "why ", count: 100)
        let asked = request { $0.title = "Run\n\(long)" }
        let text = CardText(asked, isSealed: false, until: nil)
        #expect(!text.title.contains("\n"))
        #expect(text.title.utf8.count <= 200)
        #expect(text.message.contains("Title: Run⟨U+000A⟩why why"))
        #expect(text.message.contains(long.dropLast()))
    }

    @Test("A title whose spaces or lines a line joins stands whole in the message, and any other is not said twice")
    func joinedTitle() {
        let dialog = request {
            $0.subject = .dialog
            $0.command = nil
            $0.title = "rm -rf 'my  files' \u{301}\u{E0041}b"
        }
        let text = CardText(dialog, isSealed: false, until: nil)
        #expect(text.title == "rm -rf 'my files' \u{301}⟨U+E0041⟩b")
        #expect(text.message == "Title: rm -rf 'my  files' \u{301}⟨U+E0041⟩b\n\(text.title)")
        let plain = CardText(request { $0.title = " Run it? " }, isSealed: false, until: nil)
        #expect(plain.title == "Run it?" && !plain.message.contains("Title"))
    }

    @Test(
        "A patch and permissions show each scalar as a command does",
        arguments: ["/data/1\u{FE0F}", "/srv/my\u{A0}dir", "\u{4E2D}\u{200D}\u{4E2D}", "⚠\u{FE0F}"])
    func patch(path: String) {
        let asked = request {
            $0.subject = .permission
            $0.command = nil
            $0.message = #"{"write":["\#(path)"]}"#
        }
        let shown = CardText(asked, isSealed: false, until: nil).message
        #expect(shown == #"{"write":["\#(VisibleText.command(path))"]}"# && shown.contains("⟨U+"))
    }

    @Test("A node's command of 40 KB, which is said once, fits on a sealed card")
    func nodeCommand() {
        let asked = request {
            $0.command = String(repeating: "make all\n", count: 4_400)
            $0.facts.lines = [.init("arguments", "/bin/sh -lc (the command above)")]
        }
        #expect(!CardText(asked, isSealed: true, until: nil).isCut)
    }

    @Test(
        "A title that begins as the bridge's own is the agent's word",
        arguments: ["Can only be denied, since it is too long to show: x", "In 2 parts, read the message above first"])
    func reserved(title: String) {
        #expect(CardText(request { $0.title = title }, isSealed: false, until: nil).title == "The agent says: \(title)")
    }

    @Test("A title that looks like a line of the bridge's is below the bridge's own")
    func forged() {
        let asked = request {
            $0.title = "Folder: /srv/safe"
            $0.message = ""
            $0.command = nil
            $0.facts.folder = "/srv/real"
        }
        let text = CardText(asked, isSealed: false, until: nil)
        #expect(text.message == "Folder: /srv/real\nFolder: /srv/safe")
    }

    @Test("What an eye cannot see is visible everywhere")
    func visible() {
        let asked = request {
            $0.title = "a\u{202E}b"
            $0.message = "c\u{200B}d"
            $0.command = "rm\u{A0}x"
            $0.facts.folder = "/srv\u{2066}"
        }
        let text = CardText(asked, isSealed: false, until: nil)
        #expect(text.title == "a⟨U+202E⟩b")
        #expect(text.message == "Folder: /srv⟨U+2066⟩\nc⟨U+200B⟩d")
        #expect(text.command == "rm⟨U+00A0⟩x")
    }

    @Test(
        "Head and overflow are the whole text, and a sealed card holds its bound with all escapes",
        arguments: ["x", "\"", "\n", "é", "漢", "🙂", "\u{202E}", "a\n\t\"\\"], [40_000, 70_000, 100_000])
    func whole(letter: String, bytes: Int) {
        let shown = VisibleText.command(letter)
        let command = String(repeating: letter, count: bytes / shown.utf8.count)
        for isSealed in [false, true] {
            let text = CardText(request { $0.command = command }, isSealed: isSealed, until: nil)
            guard !text.isCut else { continue }
            #expect((text.command ?? "") + text.overflow == VisibleText.command(command))
            let details = [text.title, text.message, text.command, text.host].compactMap(\.self)
            let size = details.reduce(0) { $0 + (isSealed ? JSONText.string($1).text.utf8.count : 0) }
            #expect(size <= 48_000)
            #expect((text.command?.utf8.count ?? 0) <= 48_000)
            #expect(text.overflow.utf8.count <= 65_536)
            let parts = text.parts(atMost: isSealed ? 48_000 : 60_000)
            let told = parts.map { $0.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)[1] }
            #expect(told.joined() == text.overflow)
            #expect(parts.allSatisfy { $0.utf8.count <= (isSealed ? 48_000 : 60_000) })
            // No part begins or ends within an escape.
            #expect(
                ([text.command ?? ""] + told.map { String($0) }).allSatisfy { part in
                    part.split(separator: "⟨", omittingEmptySubsequences: false).dropFirst().allSatisfy {
                        $0.contains("⟩")
                    }
                        && part.prefix { $0 != "⟨" }.allSatisfy { $0 != "⟩" }
                })
        }
    }

    @Test("A long message overflows likewise, and two long texts can only be denied")
    func message() {
        let diff = String(repeating: "+ line\n", count: 10_000)
        let asked = request {
            $0.command = nil
            $0.message = diff
            $0.facts.folder = "/srv"
        }
        let text = CardText(asked, isSealed: false, until: nil)
        #expect(text.message + text.overflow == "Folder: /srv\n" + diff)
        // The hint does not break the diff either, because a reader could take it for a line of the text.
        let hinted = CardText(asked, isSealed: false, until: nil, takesWords: true)
        let hint = "Tap your answer, or write what to do instead\n"
        #expect(hinted.message + hinted.overflow == hint + "Folder: /srv\n" + diff)
        #expect(hinted.message.utf8.count <= 48_000)
        let both = request {
            $0.command = diff
            $0.message = diff
        }
        #expect(CardText(both, isSealed: false, until: nil).isCut)
    }
}
