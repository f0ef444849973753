import Testing
import Vocabulary

@testable import Claude

@Suite("Lines of Claude Code: whose turn it is")
struct ClaudeDecoderTests {
    private var talk = ClaudeTalk()

    @Test("a prompt of ours is accepted once, begins once, and ends with the result")
    mutating func run() {
        #expect(talk.decoder.isFree && talk.decoder.isIdle && !talk.decoder.mayRun)
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        #expect(!talk.decoder.isFree && talk.decoder.mayRun)
        #expect(talk.hears(ClaudeSays.fate("u1", "queued")) == ["send run accepted as run"])
        #expect(talk.hears(ClaudeSays.fate("u1", "started")) == ["run claude started"])
        #expect(talk.hears(ClaudeSays.initial()) == [])
        #expect(talk.hears(ClaudeSays.said("Hello.")) == [#"run claude append "Hello.""#])
        #expect(
            talk.hears(ClaudeSays.done) == [#"run claude segment ended "Hello.""#, "run claude finished stop run -"])
        #expect(talk.hears(ClaudeSays.fate("u1", "completed")) == [])
        #expect(talk.decoder.isFree && talk.decoder.isIdle)
        #expect(talk.decoder.sessionID == "s-1" && talk.decoder.mode == "default")
    }

    @Test("the prompt is accepted with its beginning where nothing said that it waits")
    mutating func startedAlone() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        #expect(talk.hears(ClaudeSays.fate("u1", "started")) == ["send run accepted as run", "run claude started"])
    }

    @Test("an earlier version tells no fates: the turn behind our prompt is ours")
    mutating func early() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        #expect(talk.hears(ClaudeSays.initial()) == ["send run accepted as run", "run claude started"])
        #expect(talk.hears(ClaudeSays.done) == ["run claude finished stop run -"])
    }

    private mutating func mustInterrupt() -> Bool { talk.decoder.mustInterrupt }

    private static let own = ClaudeSays.result(#""origin":{"kind":"task-notification"}"#)

    @Test("an earlier version's turn with an origin is not ours: the next one is, in the same run")
    mutating func earlyBehindAnother() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        _ = talk.hears(ClaudeSays.initial("i-1"), ClaudeSays.said("The work is done."))
        #expect(talk.hears(Self.own) == [#"run claude segment ended "The work is done.""#])
        #expect(!talk.decoder.isFree && !mustInterrupt())
        #expect(talk.hears(ClaudeSays.initial("i-2"), ClaudeSays.said("Yes.")) == [#"run claude append "Yes.""#])
        #expect(!mustInterrupt())
        #expect(talk.hears(ClaudeSays.done) == [#"run claude segment ended "Yes.""#, "run claude finished stop run -"])
    }

    @Test("an earlier version's turn with an origin took our prompt in where the session is idle behind it")
    mutating func earlyTakenIn() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        _ = talk.hears(ClaudeSays.initial("i-1"), ClaudeSays.said("Both are done."), Self.own)
        let idle = ClaudeSays.system("session_state_changed", #""state":"idle""#)
        #expect(talk.hears(idle) == ["run claude finished stop run -"] && talk.decoder.isFree)
    }

    @Test("the end of such a turn counts, failed or not, where no other begins")
    mutating func earlyNoneBegins() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        let failed = ClaudeSays.result(
            #""result":"You have reached your limit","origin":{"kind":"task-notification"}"#, isError: true)
        #expect(talk.hears(ClaudeSays.initial("i-1"), failed).last == "run claude started")
        let due = talk.decoder.nextDeadline ?? .zero
        #expect(talk.decoder.deadlineHit(at: due - .milliseconds(1)).isEmpty && !talk.decoder.isFree)
        let said = talk.decoder.deadlineHit(at: due).map(ObservationText.line)
        #expect(said.count == 1 && said[0].contains("failed") && said[0].contains("You have reached your limit"))
        #expect(talk.decoder.isFree && talk.decoder.nextDeadline == nil)
    }

    @Test("an earlier version's turn without its result ends where the next one begins")
    mutating func earlyLostResult() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        _ = talk.hears(ClaudeSays.initial("i-1"), ClaudeSays.said("Hello."))
        #expect(
            talk.hears(ClaudeSays.initial("i-2")) == [
                #"run claude segment ended "Hello.""#, "run claude finished stop run -",
                "claude-own-i-2 claude started",
            ])
    }

    @Test("a Stop that met the turn with an origin is written again for the next one")
    mutating func earlyStopBehindAnother() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        _ = talk.hears(ClaudeSays.initial("i-1"))
        talk.decoder.willInterrupt()
        #expect(talk.hears(Self.own) == [] && !mustInterrupt())
        #expect(talk.hears(ClaudeSays.initial("i-2")) == [] && mustInterrupt())
    }

    @Test("a version that tells fates says so before any turn: a turn behind our prompt may be a schedule's")
    mutating func schedule() {
        let ready =
            #"{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"current_permission_mode":"plan","capabilities":["msg_lifecycle_v1"]}}}"#
        #expect(talk.hears(ready) == [] && talk.decoder.mode == "plan")
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        #expect(talk.hears(ClaudeSays.fate("x", "started", #","wakeup_source":"schedule_wakeup""#)) == [])
        #expect(talk.hears(ClaudeSays.initial("i-7")) == ["claude-own-i-7 claude started"])
        #expect(talk.hears(ClaudeSays.fate("u1", "queued")) == ["send run accepted as run"])
        // A turn without an origin and without a uuid of the bridge is the agent's own.
        #expect(talk.hears(ClaudeSays.done) == ["claude-own-i-7 claude finished stop run -"])
        #expect(!talk.decoder.isFree)
        #expect(talk.hears(ClaudeSays.fate("u1", "started")) == ["run claude started"])
    }

    @Test("a turn of another's that takes our prompt in ends there, and its result is ours")
    mutating func folded() {
        _ = talk.hears(ClaudeSays.fate("x", "started"), ClaudeSays.initial("i-1"), ClaudeSays.said("Noted."))
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        #expect(talk.hears(ClaudeSays.fate("u1", "queued")) == ["send run accepted as run"])
        #expect(
            talk.hears(ClaudeSays.fate("u1", "started")) == [
                #"claude-own-i-1 claude segment ended "Noted.""#, "claude-own-i-1 claude finished stop run -",
                "run claude started",
            ])
        let both = #""terminal_reason":"completed","origin":{"kind":"task-notification"},"user_message_uuids":["u1"]"#
        #expect(talk.hears(ClaudeSays.said("Yes."), ClaudeSays.result(both)).last == "run claude finished stop run -")
    }

    @Test("a prompt of ours that a turn of ours takes in belongs to that turn")
    mutating func steered() {
        _ = talk.begins()
        talk.decoder.willBegin(RunID("second"), uuid: "u2")
        #expect(talk.hears(ClaudeSays.fate("u2", "queued")) == [])
        #expect(talk.hears(ClaudeSays.fate("u2", "started")) == ["send second accepted as run"])
        #expect(talk.hears(ClaudeSays.fate("u2", "completed")) == [])
        #expect(talk.hears(ClaudeSays.done) == ["run claude finished stop run -"])
        #expect(talk.decoder.isFree)
    }

    @Test("prompts that waited together are one turn")
    mutating func merged() {
        _ = talk.begins()
        talk.decoder.willBegin(RunID("b"), uuid: "u2")
        talk.decoder.willBegin(RunID("c"), uuid: "u3")
        _ = talk.hears(ClaudeSays.fate("u2", "queued"), ClaudeSays.fate("u3", "queued"), ClaudeSays.done)
        #expect(
            talk.hears(ClaudeSays.fate("u2", "started"), ClaudeSays.fate("u3", "started")) == [
                "send b accepted as b", "b claude started", "send c accepted as b",
            ])
    }

    @Test("a model call that answers our prompt begins its turn, where the beginning was lost")
    mutating func lostBeginning() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        _ = talk.hears(ClaudeSays.fate("u1", "queued"), ClaudeSays.initial())
        let call = ClaudeSays.system("status", #""status":"requesting","user_message_uuids":["u1"]"#)
        #expect(talk.hears(call).last == "run claude started")
    }

    @Test("a result that lists our prompt ends it, where the beginning was lost")
    mutating func lostTurn() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        let result = ClaudeSays.result(#""result":"Late.","user_message_uuids":["u1"]"#)
        #expect(
            talk.hears(ClaudeSays.fate("u1", "queued"), result) == [
                "send run accepted as run", "run claude started", #"run claude finished stop run "Late.""#,
            ])
    }

    @Test(
        "what the process does not take is refused, and what is taken back is stopped",
        arguments: [
            ("refused", #"send run refused "Claude Code did not take the message (refused).""#),
            ("discarded", #"send run refused "Claude Code did not take the message (discarded).""#),
            ("cancelled", "stop of run answered"),
        ])
    mutating func dropped(state: String, line: String) {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        #expect(talk.hears(ClaudeSays.fate("u1", state)) == [line])
        #expect(talk.decoder.isFree)
    }

    @Test("a prompt that was accepted and is taken back ends as stopped")
    mutating func withdrawn() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        _ = talk.hears(ClaudeSays.fate("u1", "queued"))
        #expect(talk.hears(ClaudeSays.fate("u1", "cancelled")) == ["run claude finished aborted run -"])
    }

    @Test("completed as the first state: it was answered before, and the transcript has the answer")
    mutating func answeredBefore() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        #expect(talk.hears(ClaudeSays.fate("u1", "completed")) == ["send run accepted as run"])
        #expect(talk.decoder.takeAnsweredBefore() == [RunID("run")])
        #expect(talk.decoder.takeAnsweredBefore() == [] && talk.decoder.isFree)
    }

    @Test("background tasks and schedules keep it busy, ambient tasks do not")
    mutating func busy() {
        let two = #""tasks":[{"task_id":"a"},{"task_id":"b"},{"task_id":"c","ambient":true}]"#
        _ = talk.hears(ClaudeSays.system("background_tasks_changed", two))
        #expect(talk.decoder.isFree && !talk.decoder.isIdle && talk.decoder.busyWords == "2 background tasks")
        let hook =
            #"{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"stop","input":{"hook_event_name":"Stop","session_crons":[{"id":"1"}]}}}"#
        #expect(talk.hears(hook) == [])
        #expect(talk.decoder.busyWords == "2 background tasks and 1 schedule")
        _ = talk.hears(ClaudeSays.system("background_tasks_changed", #""tasks":[{"task_id":"c","ambient":true}]"#))
        #expect(talk.decoder.busyWords == "1 schedule" && !talk.decoder.isIdle)
        _ = talk.hears(hook.replacing(#"[{"id":"1"}]"#, with: "[]"))
        #expect(talk.decoder.isIdle && talk.decoder.busyWords == nil)
    }

    @Test("an open question keeps it busy with no turn open")
    mutating func question() {
        #expect(talk.hears(ClaudeSays.asks("Bash", #"{"command":"ls"}"#)).first?.hasPrefix("- claude approval") == true)
        #expect(talk.decoder.isFree && !talk.decoder.isIdle)
        talk.decoder.willAnswer("r1")
        #expect(talk.decoder.isIdle)
    }

    @Test("where the result was lost, the idle session is the end of the turn")
    mutating func noResult() {
        _ = talk.begins()
        #expect(
            talk.hears(ClaudeSays.said("Hi."), ClaudeSays.system("session_state_changed", #""state":"idle""#)) == [
                #"run claude append "Hi.""#, #"run claude segment ended "Hi.""#, "run claude finished stop run -",
            ])
        #expect(talk.decoder.isFree)
    }

    @Test("where the result was lost, the beginning of the next turn is the end of one whose prompt is done")
    mutating func doneWithoutResult() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        _ = talk.hears(ClaudeSays.fate("u1", "started"), ClaudeSays.initial(), ClaudeSays.said("Hello."))
        #expect(talk.hears(ClaudeSays.fate("u1", "completed")) == [])
        #expect(
            talk.hears(ClaudeSays.initial("i-2")) == [
                #"run claude segment ended "Hello.""#, "run claude finished stop run -",
                "claude-own-i-2 claude started",
            ])
        #expect(talk.hears(ClaudeSays.said("Done.")) == [#"claude-own-i-2 claude append "Done.""#])
    }

    @Test("an idle session that is told behind the beginning of the next turn is not its end")
    mutating func lateIdle() {
        talk.decoder.willBegin(RunID("run"), uuid: "u1")
        let idle = ClaudeSays.system("session_state_changed", #""state":"idle""#)
        _ = talk.hears(ClaudeSays.fate("u1", "queued"), ClaudeSays.fate("u1", "started"))
        #expect(talk.hears(idle) == [] && !talk.decoder.isFree)
        #expect(talk.hears(ClaudeSays.initial(), idle) == ["run claude finished stop run -"])
    }

    @Test("a machine may give a turn up, or abandon it")
    mutating func givenUp() {
        _ = talk.begins()
        #expect(talk.decoder.settle() == [])
        #expect(talk.decoder.giveUp().map(ObservationText.line) == ["run claude finished stop run -"])
        #expect(talk.decoder.giveUp() == [])
        _ = talk.begins("b", "u2")
        talk.decoder.abandonRun()
        #expect(talk.decoder.isFree && talk.hears(ClaudeSays.done) == [])
    }

    @Test("a session that cannot be resumed says why, with no turn")
    mutating func unknownSession() {
        let errors = #""errors":["[ede_diagnostic] x","No conversation found with session ID: s"]"#
        #expect(talk.hears(ClaudeSays.result(errors, "error_during_execution", isError: true)) == [])
        #expect(talk.decoder.trouble == "No conversation found with session ID: s")
    }

    @Test("the session and the mode are those that were told last")
    mutating func told() {
        _ = talk.begins()
        _ = talk.hears(
            ClaudeSays.system("status", #""status":null,"permissionMode":"acceptEdits""#), ClaudeSays.done,
            ClaudeSays.initial("i-2", session: "s-2"))
        #expect(talk.decoder.sessionID == "s-2" && talk.decoder.mode == "default")
        let set =
            #"{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"mode":"plan"}}}"#
        _ = talk.hears(set)
        #expect(talk.decoder.mode == "plan")
    }

    @Test("what is no frame is counted, and so is what is unknown")
    mutating func unknown() {
        #expect(talk.hears("noise {", "  [1]", #"{"type":"assistant""#, "{}", "") == [])
        #expect(talk.decoder.unknown.malformed == 5)
        _ = talk.hears(
            #"{"type":"newcomer"}"#, ClaudeSays.system("newcomer", #""a":1"#),
            ClaudeSays.event(#"{"type":"newcomer"}"#),
            #"{"type":"control_request","request_id":"1","request":{"subtype":"elicitation"}}"#)
        #expect(
            talk.decoder.unknown.counts == [
                "event newcomer": 1, "system newcomer": 1, "stream event newcomer": 1, "request elicitation": 1,
            ])
    }

    @Test("signs of life are ten seconds apart, and a compaction has its own")
    mutating func signs() {
        talk.decoder.signs = LifeSigns()
        _ = talk.begins()
        let thinking = ClaudeSays.system("thinking_tokens", #""estimated_tokens":6"#)
        #expect(talk.hears(thinking, thinking).count == 1)
        talk.now = talk.now + .seconds(11)
        #expect(talk.hears(thinking).count == 1)
        #expect(talk.hears(ClaudeSays.system("status", #""status":"compacting""#)).count == 1)
    }
}
