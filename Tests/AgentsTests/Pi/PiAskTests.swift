import AgentKit
import Pi
import Testing
import Vocabulary

@Suite("What a card of pi's says, and what its buttons answer")
struct PiAskTests {
    private func running() -> PiConversation {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        _ = pi.says(PiSays.accepted(3))
        _ = pi.says(PiSays.started)
        return pi
    }

    private static func select(_ title: String, _ options: [String], _ more: String = "") -> String {
        let list = options.map { JSONText.string($0).text }.joined(separator: ",")
        return
            #"{"type":"extension_ui_request","id":"d1","method":"select","title":\#(JSONText.string(title).text),"options":[\#(list)]\#(more)}"#
    }

    @Test(
        "two options are a card only where both are known for what they mean",
        arguments: [
            (["Yes", "No"], "Yes"), (["No", "ALLOW"], "ALLOW"), (["Run", "Cancel"], "Run"), (["OK", "Block"], "OK"),
            (["Allow once", "Deny"], "Allow once"), (["Always allow", "No"], nil), (["Allow always", "Deny"], nil),
            (["Allow for this session", "Deny"], nil), (["Yes, permanently", "No"], nil), (["Delete", "No"], nil),
            (["Yes", "Later"], nil), (["Yes", "Yes"], nil), (["Yes"], nil), (["Yes", "No", "Always"], nil),
            (["Ye\u{200B}s", "No"], nil), (["", "Yes"], nil),
        ] as [([String], String?)])
    func options(_ options: [String], _ yes: String?) {
        var pi = running()
        let asked = pi.says(Self.select("Delete?", options))
        guard let yes else {
            #expect(asked.count == 1 && asked[0].contains(" asked d1"), "\(asked)")
            return
        }
        #expect(asked.first?.contains("approval requested d1") == true, "\(asked)")
        #expect(asked.first?.contains(#"message="\#(options.joined(separator: " / "))""#) == true, "\(asked)")
        #expect(pi.decides("d1", .approve).first?.hasSuffix(#""value":"\#(yes)"}"#) == true)
    }

    @Test(
        "what a strict parser refuses is a card all the same",
        arguments: [#""echo \ud83d""#, "100000000000000000000"])
    func strict(_ value: String) {
        var pi = running()
        let asked = pi.says(
            #"{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Run?","message":"m","more":\#(value)}"#
        )
        #expect(asked.first?.contains("approval requested d1") == true, "\(asked)")
    }

    @Test("the labels stand on the card beside a message, which is whole")
    func labels() {
        var pi = running()
        let long = String(repeating: "word ", count: 2_000)
        let asked = pi.says(Self.select("Sure?", ["Run", "Deny"], #","message":"\#(long)""#))
        #expect(asked.first?.contains(#"message="\#(long)\n\nRun / Deny""#) == true)
    }

    @Test("a command in the title is not cut with it: what is long or has several lines stands in the message")
    func title() {
        let command = "⚠️ Dangerous command:\n\n  rm -rf /\n\nAllow?"
        var pi = running()
        let asked = pi.says(Self.select(command, ["Yes", "No"]))
        let whole = JSONText.string("\(command)\n\nYes / No").text
        #expect(asked.first?.contains(#""The agent asks" message=\#(whole)"#) == true, "\(asked)")
        let long = String(repeating: "x", count: 300)
        let more = pi.says(
            #"{"type":"extension_ui_request","id":"d2","method":"confirm","title":"\#(long)","message":"m"}"#)
        #expect(more.first?.contains(#""The agent asks" message="\#(long)\n\nm""#) == true, "\(more)")
        let question = pi.says(#"{"type":"extension_ui_request","id":"d3","method":"input","title":"\#(long)"}"#)
        #expect(question.first?.contains(#""The agent asks" message="\#(long)""#) == true, "\(question)")
    }

    @Test("what nobody answered is cancelled: nobody said no", arguments: ["select", "confirm"])
    func unanswered(_ method: String) {
        var pi = running()
        _ = pi.says(
            Self.select("Sure?", ["Yes", "No"]).replacing(#""method":"select""#, with: #""method":"\#(method)""#))
        #expect(
            pi.decides("d1", .deny, isUnanswered: true) == [
                #"1 > {"type":"extension_ui_response","id":"d1","cancelled":true}"#,
                "- pi-ses_1 approval settled d1 decided(Vocabulary.ApprovalDecision.deny)",
            ])
    }

    @Test("a dialog without a time waits for twelve hours: pi is asked whether it lives, and nothing else")
    func twelveHours() {
        var pi = running()
        _ = pi.says(Self.select("Sure?", ["Yes", "No"]))
        pi.showsIdle = true
        var said: Set<String> = []
        for _ in 0..<(12 * 60) {
            for line in pi.waits(60_000) {
                let id = line.split(separator: "\"").first { $0.hasPrefix("sb-") }?.dropFirst(3)
                said.insert(line.replacing(/sb-[0-9]+/, with: "sb"))
                if let id = id.flatMap({ Int($0) }) { _ = pi.says(PiSays.state(id, #""isStreaming":true"#)) }
            }
        }
        #expect(said == [#"1 > {"type":"get_state","id":"sb"}"#], "\(said)")
        #expect(pi.isWanted() == ["busy 1"], "its place is its own")
        #expect(pi.decides("d1", .approve).first?.contains(#""value":"Yes""#) == true)
    }
}
