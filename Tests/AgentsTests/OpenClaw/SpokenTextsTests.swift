import Testing
import Vocabulary
import Worlds

@testable import OpenClaw

@Suite("What an OpenClaw agent says, message by message")
struct SpokenTextsTests {
    private static let run = RunID("r1")

    /// The bubble: ended messages, and the newest one.
    private struct Bubble {
        var ended: [String] = []
        var newest = ""

        mutating func take(_ changes: [TextChange]) {
            for change in changes {
                switch change {
                case .append(let addition): newest += addition
                case .segment(let text):
                    if !newest.isEmpty, !text.hasPrefix(newest), !newest.hasPrefix(text) { ended.append(newest) }
                    newest = text
                case .replaced(let text): newest = text
                case .segmentEnded(let text):
                    ended.append(text ?? newest)
                    newest = ""
                case .snapshot(let text): (ended, newest) = ([], text)
                }
            }
        }
    }

    private struct Talk {
        var texts = SpokenTexts()
        var bubble = Bubble()

        mutating func says(_ text: String, _ delta: String? = nil, replaces: Bool = false) {
            let changes = Array(text.utf8).withUnsafeBytes { text in
                guard let delta else {
                    return texts.said(SpokenTexts.Frame(text: text, addition: nil, replaces: replaces), in: run)
                }
                return Array(delta.utf8).withUnsafeBytes { delta in
                    texts.said(SpokenTexts.Frame(text: text, addition: delta, replaces: replaces), in: run)
                }
            }
            bubble.take(changes)
        }

        mutating func ends(_ whole: String? = nil) -> String {
            let last =
                whole.map { whole in Array(whole.utf8).withUnsafeBytes { texts.ends(run, whole: $0) } }
                ?? texts.ends(run, whole: nil)
            if let text = last.text { bubble.take([.segment(text)]) }
            return (bubble.ended + [bubble.newest]).filter { !$0.isEmpty }.joined(separator: "\n\n")
        }
    }

    @Test("a program of others says its last message again, without an addition")
    func snapshots() {
        var whole = Talk()
        whole.says("Let me look.", "Let me look.")
        whole.texts.toolBegan(in: Self.run)
        whole.says("Let me look.There is one file.", "There is one file.")
        whole.says("There is one file.")
        #expect(whole.ends("There is one file.") == "Let me look.There is one file.")
        var trimmed = Talk()
        trimmed.says("Done.\n", "Done.\n")
        trimmed.says("Done.")
        #expect(trimmed.ends() == "Done.")
        var grown = Talk()
        grown.says("A", "A")
        grown.texts.toolBegan(in: Self.run)
        grown.says("AB", "B")
        grown.says("AB")
        #expect(grown.ends() == "AB")
        var other = Talk()
        other.says("A", "A")
        other.says("B")
        #expect(other.ends() == "A\n\nB", "a snapshot of another message")
    }

    @Test("a replacement behind a tool begins a message")
    func replacementBehindTool() {
        var talk = Talk()
        talk.says("First.", "First.")
        talk.texts.toolBegan(in: Self.run)
        talk.says("", "", replaces: true)
        talk.says("Second", "", replaces: true)
        talk.says("Second.", ".")
        #expect(talk.ends() == "First.\n\nSecond.")
    }

    @Test("a text out of which something was cleaned goes on as the same message")
    func cleaned() {
        var early = Talk()
        early.says("Here.\nMEDIA:", "Here.\nMEDIA:")
        early.says("Here.\nDone.", "\nDone.")
        #expect(early.ends() == "Here.\nDone.")
        var empty = Talk()
        empty.says("MEDIA:", "MEDIA:")
        empty.says("", "", replaces: true)
        empty.texts.sent(["./p.png"], in: Self.run)
        #expect(empty.ends() == "")
        var bracket = Talk()
        bracket.says("[", "[")
        bracket.says("Hi", "Hi")
        #expect(bracket.ends() == "Hi")
        var real = Talk()
        real.says("[", "[")
        real.says("[x](y)", "x](y)")
        #expect(real.ends() == "[x](y)")
    }

    @Test("a failed attempt that said the same is no part of the answer")
    func sameAgain() {
        var talk = Talk()
        talk.says("Half.", "Half.")
        talk.texts.attemptFailed(in: Self.run)
        _ = talk.texts.forget(Self.run)
        talk.bubble = Bubble()
        talk.says("Half.", "Half.")
        #expect(talk.ends("Half.Half.") == "Half.")
        var missing = Talk()
        missing.says("There", "There")
        #expect(missing.ends("There it is.") == "There it is.", "what the last frame had not")
    }

    @Test(
        "words for silence, as gateways take them",
        arguments: [
            "NO_REPLY", "no_reply", " NO_REPLY\n", #"{"action":"NO_REPLY"}"#, #"{ "action": "NO_REPLY" }"#,
            "HEARTBEAT_OK",
        ])
    func silence(words: String) {
        for step in [1, 3, words.count] {
            var talk = Talk()
            for count in stride(from: step, to: words.count, by: step) {
                talk.says(String(words.prefix(count)), String(words.prefix(count).suffix(step)))
                #expect(talk.bubble.newest == "", "\(words.prefix(count))")
            }
            talk.says(words, String(words.suffix(step)))
            #expect(talk.ends() == "")
            var before = Talk()
            before.says("Hello.", "Hello.")
            before.says(words, words)
            #expect(before.ends() == "Hello.")
        }
        var more = Talk()
        more.says(words, words)
        more.says(words + ", he said", ", he said")
        #expect(more.ends() == words + ", he said")
    }

    @Test(
        "a message that is the beginning of a directive is one, where nothing was taken out",
        arguments: ["Me", "Media", "["])
    func noDirective(words: String) {
        var talk = Talk()
        talk.says(words, words)
        talk.texts.toolBegan(in: Self.run)
        talk.says("Next.", "Next.")
        #expect(talk.ends() == words + "\n\nNext.")
    }

    @Test("a run that nobody ends makes room before one that goes on")
    func room() {
        var talk = Talk()
        func others(_ numbers: Range<Int>) {
            for number in numbers {
                _ = Array("x".utf8).withUnsafeBytes { talk.texts.said(.init(text: $0), in: RunID("other-\(number)")) }
            }
        }
        others(0..<255)
        talk.says("One", "One")
        talk.texts.toolBegan(in: Self.run)
        others(255..<300)
        talk.says("Two.", "Two.")
        #expect(talk.ends() == "One\n\nTwo.")
    }

    /// Messages of an agent in pieces, with tools in between. The text is cumulative within a message.
    @Test("generated texts are the agent's own, but for blank lines between messages", arguments: UInt64(1)...400)
    func generated(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let tokens = [
            "1", "0", "0", "ha", "ha", "Done.", " ", "\n", "```", "```py\n", "é", "👩‍👩‍👧", "e\u{301}", "A", "“", ",", "\t",
            "10",
        ]
        var said: [String] = []
        var talk = Talk()
        for number in 0..<Int.random(in: 1...5, using: &random) {
            var text = ""
            let pieces = (0..<Int.random(in: 1...12, using: &random)).map { _ in random.pick(tokens) }
            for (index, piece) in pieces.enumerated() {
                text += piece
                talk.says(text, index == 0 ? text : piece)
            }
            said.append(text)
            if number < 4, random.happens(0.6) { talk.texts.toolBegan(in: Self.run) }
            // The gateway's terminal frame has the last message, or all of them glued together.
        }
        let shown = talk.ends(random.pick([nil, said.joined(), said.last]))
        let wanted = said.map { String($0.trimmedEnd) }.filter { !$0.isEmpty }.joined(separator: "\n\n")
        #expect(Array(shown.utf8) == Array(wanted.utf8), "\(said)")
    }

    // MARK: Limits

    @Test("a file of one run more than are kept takes the place of the run that was silent for longest")
    func filesMakeRoom() {
        var texts = SpokenTexts()
        let runs = (0..<256).map { RunID("run-\($0)") }
        for run in runs {
            _ = Array("a".utf8).withUnsafeBytes { texts.said(SpokenTexts.Frame(text: $0), in: run) }
        }
        texts.sent(["/f"], in: Self.run)
        #expect(texts.isSpoken(Self.run) && !texts.isSpoken(runs[0]) && texts.isSpoken(runs[1]))
    }

    @Test("additions alone keep no more texts than snapshots do")
    func additionsMakeRoom() {
        var texts = KeptTexts()
        for number in 0...256 {
            _ = Array("a".utf8).withUnsafeBytes { texts.appended(RunID("run-\(number)"), $0) }
        }
        let moved = Array("ab".utf8).withUnsafeBytes { texts.moved(RunID("run-0"), to: $0) }
        #expect(moved == .snapshot("ab"))
    }
}

extension String {
    fileprivate var trimmedEnd: String {
        String(decoding: utf8.prefix((Array(utf8).lastIndex { $0 > 0x20 } ?? -1) + 1), as: UTF8.self)
    }
}
