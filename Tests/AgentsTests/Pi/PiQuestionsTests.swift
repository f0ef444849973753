import AgentKit
import Testing
import Vocabulary

@testable import Pi

@Suite("Questions of pi's extensions")
struct PiQuestionsTests {
    private func running() -> PiConversation {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one")
        _ = pi.says(#"{"type":"agent_start"}"#)
        return pi
    }

    private static func asks(_ id: String, _ fields: String) -> String {
        #"{"type":"extension_ui_request","id":"\#(id)",\#(fields)}"#
    }

    @Test("a choice is a question; its answer goes back and settles it")
    func select() {
        var pi = running()
        #expect(
            pi.says(
                Self.asks("d1", #""method":"select","title":"Which?","options":["Red","Blue","No"],"timeout":5000"#))
                == [#"r1 pi-ses_1 asked d1 "Which?" option="Red" option="Blue" option="No" expires=5000"#])
        #expect(
            pi.answers("d1", .choices(["Blue"])) == [
                #"1 > {"type":"extension_ui_response","id":"d1","value":"Blue"}"#,
                "- pi-ses_1 question settled d1 answered",
            ])
        #expect(pi.answers("d1", .choices(["Red"])) == ["- pi-ses_1 question settled d1 unknown"])
    }

    @Test("an option that is a part of another one goes as itself", arguments: ["Yes, always", "Yes", "No"])
    func contained(option: String) {
        var pi = running()
        _ = pi.says(
            Self.asks("d1", #""method":"select","title":"Deploy?","options":["Yes, always","Yes","No","Not now"]"#))
        #expect(
            pi.answers("d1", .choices([option])).first
                == #"1 > {"type":"extension_ui_response","id":"d1","value":"\#(option)"}"#)
    }

    @Test("a text that is asked for is a question, with an example or the text so far")
    func texts() {
        var pi = running()
        #expect(
            pi.says(Self.asks("d1", #""method":"input","title":"Name?","placeholder":"Ada""#))
                == [#"r1 pi-ses_1 asked d1 "Name?" words placeholder="Ada""#])
        #expect(
            pi.says(Self.asks("d2", #""method":"editor","title":"Edit","prefill":"a\nb""#))
                == [#"r1 pi-ses_1 asked d2 "Edit" words prefill="a\nb""#])
        #expect(
            pi.answers("d2", .text("c\nd")).first == #"1 > {"type":"extension_ui_response","id":"d2","value":"c\nd"}"#)
        #expect(
            pi.answers("d1", .declined) == [
                #"1 > {"type":"extension_ui_response","id":"d1","cancelled":true}"#,
                "- pi-ses_1 question settled d1 answered",
            ])
    }

    @Test("a choice between yes and no is a card, as is a confirmation")
    func cards() {
        var pi = running()
        #expect(
            pi.says(Self.asks("d1", #""method":"select","title":"Delete?","options":["Allow","Block"]"#)).first?
                .contains("approval requested d1") == true)
        #expect(pi.decides("d1", .deny).first == #"1 > {"type":"extension_ui_response","id":"d1","value":"Block"}"#)
    }

    @Test("a question expires with its time, of which pi says nothing, and is void with its process")
    func ends() {
        var pi = running()
        _ = pi.says(Self.asks("d1", #""method":"input","title":"Name?","timeout":5000"#))
        _ = pi.says(Self.asks("d2", #""method":"input","title":"Age?""#))
        #expect(pi.waits(5_000) == ["- pi-ses_1 question settled d1 expired"])
        #expect(pi.exits().contains("- pi-ses_1 question settled d2 cancelled"))
    }

    @Test(
        "a dialog that no person can answer is cancelled at once",
        arguments: [#""method":"select","title":"Which?","options":[]"#, #""method":"wizard","title":"Which?""#])
    func cancelled(fields: String) {
        var pi = running()
        #expect(
            pi.says(Self.asks("d1", fields)).first
                == #"1 > {"type":"extension_ui_response","id":"d1","cancelled":true}"#)
    }

    @Test("a dialog without a run of ours, or of a run that is being stopped, is cancelled at once")
    func unheard() {
        var pi = PiConversation.ready()
        let cancelled = #"1 > {"type":"extension_ui_response","id":"d1","cancelled":true}"#
        #expect(pi.says(Self.asks("d1", #""method":"input","title":"Name?""#)).first == cancelled)
        pi = running()
        _ = pi.aborts("r1")
        #expect(pi.says(Self.asks("d1", #""method":"input","title":"Name?""#)).first == cancelled)
    }

    @Test("a dialog that comes before the prompt is of the chat's message that waits for the process")
    func early() {
        var pi = PiConversation()
        _ = pi.sends("r1", "one")
        _ = pi.spawns()
        #expect(
            pi.says(Self.asks("d1", #""method":"input","title":"Name?""#)) == [#"- pi-ses_1 asked d1 "Name?" words"#])
    }

    @Test("questions of an earlier process of the bridge ended with the processes that asked them")
    func restarted() {
        let turn = EarlierTurn(
            session: PiConversation.chat, runs: [EarlierTurn.Run(RunID("r1"), text: "one")], isAccepted: true,
            isStopping: false, receivedAt: .zero, decisions: [], detached: [], questions: [QuestionID("d1")])
        #expect(
            PiConversation(turns: [turn]).beginning.filter { $0.contains("question") }
                == ["- pi-ses_1 question settled d1 cancelled"])
    }
}
