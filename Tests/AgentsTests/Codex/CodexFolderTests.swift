import AgentKit
import Testing
import Vocabulary

@Suite("Codex: the folder of a chat's thread")
struct CodexFolderTests {
    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site"}"#.utf8))
    private static let gone = #"{"id":3,"error":{"code":-32600,"message":"no rollout found for thread id T"}}"#

    private static func earlier(in folder: String?, model: ModelChoice = .unchanged) -> EarlierTurn {
        EarlierTurn(
            session: CodexConversation.chat,
            runs: [EarlierTurn.Run(RunID("r1"), text: "one", model: model, folder: folder)], isAccepted: false,
            isStopping: false, receivedAt: .zero, decisions: [], detached: [])
    }

    @Test("a thread that is gone is followed by one in the folder that the message names")
    func gone() {
        var codex = CodexConversation.up(facts: [Self.place])
        #expect(codex.sends("r1", "one", in: "/moved").contains { $0.contains("thread/resume") })
        let said = codex.says(Self.gone)
        #expect(said.contains { $0.contains("thread/start") && $0.contains(#""cwd":"/moved""#) })
        let kept = codex.says(#"{"id":4,"result":{"thread":{"id":"N"},"model":"m"}}"#)
        #expect(kept == [#"keep thread:codex:ses_1 {"thread":"N","folder":"/moved","turns":false}"#])
    }

    @Test("and its bubble says that the earlier conversation is gone, once")
    func saysSo() {
        var codex = CodexConversation.up(facts: [Self.place])
        _ = codex.sends("r1", "one")
        _ = codex.says(Self.gone)
        _ = codex.says(#"{"id":4,"result":{"thread":{"id":"N"},"model":"m"}}"#)
        let said = codex.isDone()
        #expect(said.first == "r1 begins another conversation" && said.last?.contains("turn/start") == true)
        _ = codex.says(#"{"id":5,"error":{"code":-32600,"message":"no"}}"#)
        #expect(!codex.sends("r2", "two").contains { $0.contains("conversation") })
    }

    @Test("also where the thread was missed behind a turn that was lost with it")
    func saysSoLater() {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"userMessage","id":"m","clientId":"r1"}}}"#
        )
        _ = codex.rejoins()
        #expect(codex.says(Self.gone).contains { $0.contains("failed") })
        _ = codex.sends("r2", "two")
        _ = codex.says(#"{"id":4,"result":{"thread":{"id":"N"},"model":"m"}}"#)
        #expect(codex.isDone().contains("r2 begins another conversation"))
    }

    @Test("a thread that never had a turn is replaced without a word")
    func unused() {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T"},"model":"m"}}"#)
        _ = codex.isDone()
        _ = codex.rejoins()
        // Another process runs now, and it has no such thread.
        _ = codex.says(#"{"id":3,"error":{"code":-32600,"message":"no rollout found for thread id T"}}"#)
        let gone = codex.says(#"{"id":4,"error":{"code":-32600,"message":"no rollout found for thread id T"}}"#)
        #expect(gone.contains { $0.contains("failed") && $0.contains("cannot be known") })
        _ = codex.sends("r2", "two")
        _ = codex.says(#"{"id":5,"result":{"thread":{"id":"N"},"model":"m"}}"#)
        let said = codex.isDone()
        #expect(said.count == 1 && said[0].contains("turn/start"), "\(said)")
    }

    @Test("also where an earlier process of the bridge began it, which the record of the thread says")
    func unusedBefore() {
        let unused = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site","turns":false}"#.utf8))
        var codex = CodexConversation.up(facts: [unused])
        _ = codex.sends("r1", "one")
        _ = codex.says(Self.gone)
        _ = codex.says(#"{"id":4,"result":{"thread":{"id":"N"},"model":"m"}}"#)
        let said = codex.isDone()
        #expect(said.count == 1 && said[0].contains("turn/start"), "\(said)")
    }

    @Test("the first message of a thread is written down with it, once")
    func firstTurn() {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        let begun = codex.says(#"{"id":3,"result":{"thread":{"id":"T"},"model":"m"}}"#)
        #expect(begun == [#"keep thread:codex:ses_1 {"thread":"T","folder":"/work","turns":false}"#])
        _ = codex.isDone()
        _ = codex.says(#"{"id":4,"result":{"turn":{"id":"U","status":"inProgress"}}}"#)
        _ = codex.begins("U")
        let item =
            #"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"userMessage","id":"m","clientId":"r1"}}}"#
        #expect(codex.says(item).contains(#"keep thread:codex:ses_1 {"thread":"T","folder":"/work"}"#))
        #expect(!codex.says(item).contains { $0.hasPrefix("keep") })
    }

    @Test("or in its own, where the message names none: not in that of the configuration")
    func goneWithoutFolder() {
        var codex = CodexConversation.up(facts: [Self.place])
        _ = codex.sends("r1", "one")
        #expect(codex.says(Self.gone).contains { $0.contains("thread/start") && $0.contains(#""cwd":"/site""#) })
    }

    @Test("a message that an earlier process had before its thread was written down goes into its own workspace")
    func neverKept() {
        let codex = CodexConversation.joined(after: Self.earlier(in: "/site", model: .named("big")), folder: nil)
        #expect(codex.said.contains { $0.contains("thread/start") && $0.contains(#""cwd":"/site""#) })
        var conversation = codex.conversation
        _ = conversation.says(#"{"id":3,"result":{"thread":{"id":"T"},"model":"m"}}"#)
        // The message keeps the model that it named.
        #expect(conversation.isDone().contains { $0.contains("turn/start") && $0.contains(#""model":"big""#) })
    }

    @Test("where that is not known, the message ends with a sentence and no thread begins")
    func unknown() {
        let codex = CodexConversation.joined(after: Self.earlier(in: nil), folder: nil)
        #expect(!codex.said.contains { $0.contains("thread/start") })
        #expect(codex.said.contains { $0.hasPrefix("send r1 not made") && $0.contains("workspace") })
    }
}

extension CodexConversation {
    /// After a restart of the bridge: the lines once the server has greeted.
    fileprivate static func joined(after turn: EarlierTurn, folder: String?) -> (said: [String], conversation: Self) {
        var conversation = Self(turns: [turn], folder: folder)
        _ = conversation.ran("codex-cli 0.163.0")
        let said = conversation.greets()
        return (said, conversation)
    }
}
