import AgentKit
import ConversationEngine
import LeastAgent
import Testing
import Vocabulary

@Suite("What is lost on the engine, and found again")
struct LossTests {
    private static let ended = #","found":"ended","text":"Found.""#

    private static func after(
        _ run: String, isStopping: Bool = false, finishesAlone: Bool = false, reach: LeastDialect.Reach = .pauses
    ) -> LeastConversation {
        var settings = LeastDialect.Settings()
        settings.habits.finishesAlone = finishesAlone
        settings.habits.again = .whereAbsent
        settings.reach = reach
        let turn = EarlierTurn(
            session: LeastConversation.chat, runs: [EarlierTurn.Run(RunID(run), text: "one")], isAccepted: true,
            isStopping: isStopping, receivedAt: .zero, decisions: [], detached: [])
        return LeastConversation(
            settings: settings, facts: [Fact("session:\(LeastConversation.chat)", Array("/s/1".utf8))], turns: [turn])
    }

    @Test(
        "a prompt whose children die over it again and again ends with a sentence, and the last are started with a pause"
    )
    func deaths() {
        var least = LeastConversation.make { $0.again = .whereAbsent }
        _ = least.sends("r1", "one")
        _ = least.opens()
        #expect(least.exits() == ["start 2 /s/1"])
        #expect(least.opens(2) == ["2 > sb-3 hello", "2 > sb-4 find r1"])
        #expect(least.confirms("find", #","found":"absent""#, 2) == ["2 > sb-5 prompt r1 one"])
        #expect(least.exits(1, words: "", 2) == [])
        #expect(least.waits(2_600) == ["start 3 /s/1"])
        #expect(least.opens(3) == ["3 > sb-6 hello", "3 > sb-7 find r1"])
        #expect(least.confirms("find", #","found":"absent""#, 3) == ["3 > sb-8 prompt r1 one"])
        #expect(
            least.exits(1, words: "", 3) == [#"r1 pi-ses_1 failed agentGone "its process ended with code 1""#])
        #expect(least.waits(600_000) == [])
    }

    @Test("a child that dies while the turn is looked for counts as well")
    func deathsOverFind() {
        var least = PromptTableTests.make(.doubtful)
        _ = least.confirms("hello", "", 2)
        #expect(least.exits(1, words: "", 2) == [])
        #expect(least.waits(2_600) == ["start 3 /s/1"])
        _ = least.opens(3)
        #expect(
            least.exits(1, words: "", 3) == [#"r1 pi-ses_1 failed agentGone "its process ended with code 1""#])
    }

    @Test("a run that another process finishes is said to run, and its end is the run's")
    func orphan() {
        var least = Self.after("r1")
        let card = #"r1 pi-ses_1 tool started place-r1 call wait title="Another process finishes first.""#
        #expect(least.looksUp("r1") == ["looked up r1 running -", card])
        #expect(least.looksUp("r1") == [])
        #expect(least.waits(1_000) == ["r1 pi-ses_1 tool finished place-r1 call wait completed", "start 1 /s/1"])
        #expect(least.spawns() + least.confirms("hello") == ["1 > sb-1 hello", "1 > sb-2 find r1"])
        #expect(
            least.confirms("find", Self.ended) == [#"r1 pi-ses_1 finished stop run "Found.""#])
    }

    @Test("a Stop of it is answered with what became of it, and it is not written again")
    func orphanStopped() {
        var least = Self.after("r1")
        _ = least.looksUp("r1")
        #expect(least.aborts("r1") == [])
        _ = least.waits(1_000)
        _ = least.opens()
        #expect(
            least.confirms("find", #","found":"absent""#)
                == ["r1 pi-ses_1 finished aborted run -", "stop of r1 answered"])
    }

    @Test("one that an earlier process had stopped is not written again")
    func stoppedBefore() {
        var least = Self.after("r1", isStopping: true, reach: .atOnce)
        #expect(least.looksUp("r1") == ["start 1 /s/1"])
        _ = least.opens()
        #expect(
            least.confirms("find", #","found":"absent""#)
                == [#"looked up r1 failed agentGone "its process ended""#, "stop of r1 answered"])
    }

    @Test("a Stop that is owed to a run of an earlier process goes by way of the child that may work on it")
    func stopOwed() {
        var least = Self.after("r1", isStopping: true, finishesAlone: true)
        #expect(!least.aborts("r1").contains("stop of r1 answered"))
        #expect(least.waits(1_000).contains("start 1 /s/1"))
        _ = least.opens()
        #expect(least.confirms("find", Self.ended).contains("stop of r1 answered"))
        var alone = Self.after("r1", isStopping: true)
        #expect(alone.aborts("r1") == ["stop of r1 answered"])
    }

    @Test("one that never arrived is written by the next process, before later messages")
    func absentBefore() {
        var least = Self.after("r1", reach: .atOnce)
        _ = least.looksUp("r1")
        _ = least.sends("r2", "two")
        _ = least.opens()
        #expect(
            least.confirms("find", #","found":"absent""#).prefix(2) == ["looked up r1 waits", "1 > sb-3 prompt r1 one"])
    }

    @Test("a program that cannot be started leaves a look-up to the next time that it is asked")
    func programIsAway() {
        var least = Self.after("r1", reach: .atOnce)
        _ = least.looksUp("r1")
        #expect(least.failsToStart("no such program") == [])
        #expect(least.looksUp("r1") == ["start 2 /s/1"])
        _ = least.opens(2)
        #expect(
            least.confirms("find", Self.ended, 2) == [#"looked up r1 finished stop run "Found.""#])
    }

    @Test("a turn in doubt outlives a program that is away for seconds, as while it is replaced; a message does not")
    func programAwayInDoubt() {
        var least = PromptTableTests.make(.going)
        #expect(least.exits() == ["start 2 /s/1"])
        #expect(least.failsToStart("no such program", 2) == [])
        _ = least.sends("r2", "two")
        #expect(least.waits(1_300) == ["start 3 /s/1"])
        #expect(
            least.failsToStart("no such program", 3)
                == [#"send r2 not made "Least could not be started: no such program""#])
        #expect(least.waits(2_600) == ["start 4 /s/1"])
        _ = least.opens(4)
        #expect(least.confirms("find", Self.ended, 4) == [#"r1 pi-ses_1 finished stop run "Found.""#])
    }

    @Test("one that stays away for minutes fails it")
    func programAwayForGood() {
        var least = PromptTableTests.make(.going)
        _ = least.exits()
        for start in 2...12 {
            #expect(least.failsToStart("no such program", start) == [])
            #expect(least.waits(40_000) == ["start \(start + 1) /s/1"])
        }
        #expect(
            least.failsToStart("no such program", 13)
                == [#"r1 pi-ses_1 failed agentGone "Least could not be started: no such program""#])
    }

    @Test("a run whose look-up waits for a place is said to run, and its bubble says what it waits for")
    func placeIsTaken() {
        var least = Self.after("r1", reach: .atOnce)
        #expect(least.looksUp("r1") == ["start 1 /s/1"])
        #expect(
            least.waitsForPlace(behind: 1)
                == [
                    "looked up r1 running -",
                    #"r1 pi-ses_1 tool started place-r1 call wait title="Waiting for a place: 1 agent is running""#,
                    "note 1 agent is running; a message waits",
                ])
        #expect(least.looksUp("r1") == [])
        _ = least.opens()
        #expect(least.confirms("find", Self.ended) == [#"r1 pi-ses_1 finished stop run "Found.""#])
    }

    /// The chat shows that r1 continues, and the program could not be started.
    private static func away() -> LeastConversation {
        var least = after("r1", reach: .atOnce)
        _ = least.looksUp("r1")
        _ = least.waitsForPlace(behind: 1)
        _ = least.failsToStart("no such program")
        return least
    }

    @Test("a run that was said to run is sought again after a program that cannot be started, and a stopped one ends")
    func programAwayBehindWait() {
        var least = Self.after("r1", reach: .atOnce)
        _ = least.looksUp("r1")
        _ = least.waitsForPlace(behind: 1)
        #expect(
            least.failsToStart("no such program") == ["r1 pi-ses_1 tool finished place-r1 call wait completed"])
        #expect(least.waits(1_300) == ["start 2 /s/1"])
        var stopped = least
        _ = least.opens(2)
        #expect(least.confirms("find", Self.ended, 2) == [#"r1 pi-ses_1 finished stop run "Found.""#])
        _ = stopped.aborts("r1")
        let said = stopped.failsToStart("no such program", 2)
        #expect(said.first == "r1 pi-ses_1 finished aborted run -", "\(said)")
    }

    @Test("a chat that is deleted while its program is away is forgotten")
    func deletedWhileAway() {
        var least = Self.away()
        _ = least.aborts("r1")
        #expect(least.releases(isDeleted: true) == [])
        _ = least.waits(1_300)
        let said = least.failsToStart("no such program", 2)
        #expect(said.suffix(2) == ["keep session:pi-ses_1=", "keep folder:pi-ses_1="], "\(said)")
    }

    @Test("a run that was said to run has its own card for each wait, and fails with the reason")
    func waitsTwice() {
        var least = Self.away()
        _ = least.waits(1_300)
        #expect(least.waitsForPlace(behind: 1, 2).first?.contains("started place-r1-2 call wait") == true)
        for start in 2...11 {
            _ = least.failsToStart("no such program", start)
            _ = least.waits(40_000)
        }
        let said = least.failsToStart("no such program", 12)
        #expect(
            said.first == #"r1 pi-ses_1 failed agentGone "Least could not be started: no such program""#, "\(said)")
    }

    @Test("a Stop of a turn in doubt wins over what would be written again")
    func stoppedInDoubt() {
        var least = PromptTableTests.make(.doubtful)
        #expect(least.aborts("r1") == [])
        _ = least.confirms("hello", "", 2)
        let lines = least.confirms("find", #","found":"absent""#, 2)
        #expect(lines.contains { $0.hasPrefix("r1 pi-ses_1 finished aborted") })
        #expect(!lines.contains { $0.contains("prompt") })
    }

    @Test("a child that dies over a look-up leaves it to the next one")
    func lookUpAgain() {
        var least = Self.after("r1", reach: .atOnce)
        _ = least.looksUp("r1")
        _ = least.opens()
        #expect(least.exits() == ["start 2 /s/1"])
        _ = least.opens(2)
        #expect(
            least.confirms("find", Self.ended, 2) == [#"looked up r1 finished stop run "Found.""#])
    }

    @Test("a result for a walk that its child took along steps no other walk")
    func lateResult() {
        var least = LeastConversation.make(reach: .asksForEver)
        #expect(least.sends("r1", "one") == ["find /s/*"])
        _ = least.aborts("r1")
        #expect(least.sends("r2", "two") == ["find /s/*"])
        #expect(least.looks(.found([])) == [])
        #expect(least.looks(.found([])) == ["find /s/*"])
    }

    @Test("a look-up of a run that has ended without a word knows nothing more")
    func endedHere() {
        var least = PromptTableTests.make(.going)
        _ = least.says(#"{"ended":"r1"}"#)
        _ = least.looksUp("r1")
        #expect(least.confirms("find", #","found":"absent""#) == ["looked up r1 unknown"])
    }

    // MARK: Runs of the agent's own

    @Test("a prompt that waits behind a run of the agent's own is taken back by its Stop, and that run goes on")
    func takenBack() {
        var least = PromptTableTests.make(.written)
        _ = least.says(#"{"began":"own"}"#)
        #expect(least.aborts("r1") == ["1 > sb-3 take back r1"])
    }

    @Test("a run of the agent's own that a person names is stopped while a prompt waits behind it")
    func named() {
        var least = PromptTableTests.make(.written)
        _ = least.says(#"{"began":"own"}"#)
        #expect(least.aborts("own") == ["1 > sb-3 stop"])
        #expect(least.says(#"{"ended":"own"}"#) == ["own pi-ses_1 finished stop run -", "stop of own answered"])
    }

    @Test("an ask of a run that is no message's ends with that run")
    func askOfOwnRun() {
        var least = AskTableTests.make(.between)
        #expect(
            least.says(#"{"ended":"own"}"#)
                == [
                    "own pi-ses_1 finished stop run -", "1 > settle a1 dropped",
                    "- pi-ses_1 approval settled a1 cancelled",
                ])
    }

    @Test("an ask beside all runs has a run of its own, which ends with it")
    func askBeside() {
        var least = AskTableTests.make(.between)
        _ = least.says(#"{"ended":"own"}"#)
        let asked = least.says(#"{"asks":"a2"}"#)
        #expect(asked.count == 2 && asked[0].hasSuffix("ask-a2 pi-ses_1 started"), "\(asked)")
        let said = least.decides("a2", .approve)
        #expect(said.count == 3 && said[0] == "1 > settle a2 yes", "\(said)")
        #expect(said[2].contains("ask-a2 pi-ses_1 finished stop run"), "\(said)")
    }

    @Test(
        "an ask of work in the background during a message's run outlives that run and its Stop",
        arguments: [AskTableTests.State.card, .behindStop])
    func askBesideRun(state: AskTableTests.State) {
        var least = AskTableTests.make(state)
        let asked = least.says(#"{"asks":"a2"}"#)
        #expect(asked.count == 2 && asked[0].hasSuffix("ask-a2 pi-ses_1 started"), "\(asked)")
        let ended = least.says(#"{"ended":"r1"}"#)
        #expect(!ended.contains { $0.contains("a2") }, "\(ended)")
        let said = least.decides("a2", .approve)
        #expect(said.first == "1 > settle a2 yes", "\(said)")
        #expect(said.last?.contains("ask-a2 pi-ses_1 finished stop run") == true, "\(said)")
    }

    @Test("a yes to work in the background counts while a message's run stops")
    func yesBesideStop() {
        var least = AskTableTests.make(.behindStop)
        _ = least.says(#"{"asks":"a2"}"#)
        #expect(least.decides("a2", .approve).first == "1 > settle a2 yes")
    }

    @Test("a run of the agent's own ends with its process")
    func ownRunDies() {
        var least = AskTableTests.make(.between)
        let said = least.exits()
        #expect(
            said.first == #"own pi-ses_1 failed agentGone "its process ended with code 1""#, "\(said)")
    }

    @Test("a named Stop of a run of the agent's own is done when its process ends")
    func ownRunDiesStopping() {
        var least = PromptTableTests.make(.written)
        _ = least.says(#"{"began":"own"}"#)
        _ = least.aborts("own")
        let said = least.exits()
        #expect(said.starts(with: ["own pi-ses_1 finished aborted run -", "stop of own answered"]), "\(said)")
    }

    @Test("a run of the agent's own ends where the process is killed for a Stop behind it")
    func ownRunKilled() {
        var least = PromptTableTests.make(.written)
        _ = least.says(#"{"began":"own"}"#)
        _ = least.aborts("r1")
        let said = least.waits(20_000)
        #expect(said.contains { $0.hasPrefix("own pi-ses_1 failed agentGone") }, "\(said)")
    }
}
