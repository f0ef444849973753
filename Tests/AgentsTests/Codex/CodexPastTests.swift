import AgentKit
import Testing
import Vocabulary

@Suite("Codex: two messages that an earlier bridge had handed over")
struct CodexPastTests {
    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site"}"#.utf8))

    private static func earlier(
        _ run: String, isAccepted: Bool = false, isStopping: Bool = false, hadFiles: Bool = false
    ) -> EarlierTurn {
        EarlierTurn(
            session: CodexConversation.chat, runs: [EarlierTurn.Run(RunID(run), text: run, hadFiles: hadFiles)],
            isAccepted: isAccepted, isStopping: isStopping, receivedAt: .zero, decisions: [], detached: [])
    }

    private static func turn(_ id: String, of run: String, _ status: String, isEnded: Bool = true) -> String {
        let items = #"[{"type":"userMessage","clientId":"\#(run)"},{"type":"agentMessage","id":"a","text":"Well."}]"#
        let end = isEnded ? "1" : "null"
        return #"{"id":"\#(id)","status":"\#(status)","startedAt":1,"completedAt":\#(end),"items":\#(items)}"#
    }

    /// The thread is resumed, and the list requested. `isLoaded` means by the server that the messages may have
    /// reached.
    private static func listing(_ second: EarlierTurn, isLoaded: Bool = true) -> CodexConversation {
        let turns = [earlier("r1", isAccepted: true), second]
        var codex = CodexConversation.up(facts: [place], turns: turns)
        let status = isLoaded ? "active" : "notLoaded"
        var number = 3
        if !second.isAccepted {
            _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"\#(status)"}}}}"#)
            number = 4
        }
        let said = codex.says(#"{"id":\#(number),"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        #expect(said.contains { $0.contains("thread/turns/list") })
        return codex
    }

    private static func starts(_ run: String, _ lines: [String]) -> Bool {
        lines.contains { $0.contains("turn/start") && $0.contains(run) }
    }

    /// Repeats the list until a missing message counts as absent.
    private static func looks(_ codex: inout CodexConversation, from number: Int, at list: String) -> [String] {
        var said: [String] = []
        for number in number..<(number + 3) {
            said += codex.says(#"{"id":\#(number),"result":{"data":[\#(list)]}}"#)
            said += codex.waits(1_100)
        }
        return said
    }

    @Test("the second one waits for the turn that goes on, and is sent behind it")
    func waits() {
        var codex = Self.listing(Self.earlier("r2"))
        let going = Self.turn("U", of: "r1", "inProgress", isEnded: false)
        #expect(!Self.starts("r2", codex.says(#"{"id":5,"result":{"data":[\#(going)]}}"#)))
        // Otherwise the next process would believe that Codex has the message.
        #expect(codex.looksUp("r2") == ["looked up r2 waits"])
        let ended = #"{"threadId":"T","turn":{"id":"U","status":"completed","items":[]}}"#
        #expect(Self.starts("r2", codex.says(#"{"method":"turn/completed","params":\#(ended)}"#)))
    }

    @Test("it is sent once: where the first turn has ended, the list is asked whether it had left")
    func mayHaveLeft() {
        let ended = Self.turn("U", of: "r1", "completed")
        var codex = Self.listing(Self.earlier("r2"))
        let first = codex.says(#"{"id":5,"result":{"data":[\#(ended)]}}"#)
        #expect(first.contains { $0.hasPrefix("r1 ") && $0.contains("finished") } && !Self.starts("r2", first))
        #expect(Self.starts("r2", Self.looks(&codex, from: 6, at: ended)))

        var other = Self.listing(Self.earlier("r2"))
        let both = Self.turn("V", of: "r2", "completed") + "," + ended
        _ = other.says(#"{"id":5,"result":{"data":[\#(both)]}}"#)
        let found = other.says(#"{"id":6,"result":{"data":[\#(both)]}}"#)
        #expect(found.contains { $0.hasPrefix("r2 ") && $0.contains("finished") } && !Self.starts("r2", found))
    }

    @Test("where the server is another one, it is said that it cannot be known whether it arrived")
    func isDoubtful() {
        let ended = Self.turn("U", of: "r1", "completed")
        var codex = Self.listing(Self.earlier("r2"), isLoaded: false)
        _ = codex.says(#"{"id":5,"result":{"data":[\#(ended)]}}"#)
        let said = Self.looks(&codex, from: 6, at: ended)
        #expect(said.contains { $0.hasPrefix("r2 ") && $0.contains("cannot be known") } && !Self.starts("r2", said))
    }

    @Test("another client's turn outlives the loss of ours, and the next message waits for it")
    func lostBesideAnother() {
        let ended = Self.turn("U", of: "r1", "completed")
        var codex = Self.listing(Self.earlier("r2"), isLoaded: false)
        _ = codex.says(#"{"id":5,"result":{"data":[\#(ended)]}}"#)
        _ = codex.says(#"{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"active"}}}"#)
        _ = codex.begins("V")
        let said = Self.looks(&codex, from: 6, at: ended)
        #expect(said.contains { $0.hasPrefix("r2 ") && $0.contains("cannot be known") })
        #expect(!said.contains { $0.hasPrefix("codex-V ") && $0.contains("finished") })
        #expect(!Self.starts("r3", codex.sends("r3", "three")))
        let end = #"{"threadId":"T","turn":{"id":"V","status":"completed","items":[]}}"#
        #expect(Self.starts("r3", codex.says(#"{"method":"turn/completed","params":\#(end)}"#)))
    }

    @Test("behind a turn that ended with its server none has left")
    func neverLeft() {
        var codex = Self.listing(Self.earlier("r2"), isLoaded: false)
        let cut = Self.turn("U", of: "r1", "interrupted", isEnded: false)
        #expect(Self.starts("r2", codex.says(#"{"id":5,"result":{"data":[\#(cut)]}}"#)))
    }

    @Test("one that is stopped is not sent, nor one whose files are gone")
    func isNotSent() {
        let going = Self.turn("U", of: "r1", "inProgress", isEnded: false)
        var codex = Self.listing(Self.earlier("r2"))
        #expect(codex.aborts("r2").isEmpty)
        #expect(codex.says(#"{"id":5,"result":{"data":[\#(going)]}}"#).contains("stop of r2 answered"))

        var other = Self.listing(Self.earlier("r2", hadFiles: true))
        let said = other.says(#"{"id":5,"result":{"data":[\#(going)]}}"#)
        #expect(said.contains { $0.hasPrefix("send r2 not made") && $0.contains("files") })
    }

    @Test("one that had been accepted is followed when the first is found ended")
    func isFollowed() {
        var codex = Self.listing(Self.earlier("r2", isAccepted: true))
        let both = Self.turn("V", of: "r2", "inProgress", isEnded: false) + "," + Self.turn("U", of: "r1", "completed")
        _ = codex.says(#"{"id":4,"result":{"data":[\#(both)]}}"#)
        _ = codex.says(#"{"id":5,"result":{"data":[\#(both)]}}"#)
        let ended = #"{"threadId":"T","turn":{"id":"V","status":"completed","items":[]}}"#
        let said = codex.says(#"{"method":"turn/completed","params":\#(ended)}"#)
        #expect(said.contains { $0.hasPrefix("r2 ") && $0.contains("finished") })
    }
}
