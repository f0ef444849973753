import AgentKit
import Testing
import Vocabulary

/// A closed lid suspends pi and the bridge alike, while the bridge's clock advances.
@Suite("pi, after the computer slept")
struct PiSleepTests {
    enum Asked: CaseIterable {
        case barrier, prompt, probe, abort

        /// A conversation whose only open request is this one when the lid closes.
        var conversation: PiConversation {
            var pi = self == .barrier ? PiConversation() : self == .prompt ? .ready() : .going()
            switch self {
            case .barrier:
                _ = pi.sends("r1", "one")
                _ = pi.spawns()
            case .prompt:
                _ = pi.sends("r1", "one")
                _ = pi.says(#"{"type":"compaction_start","reason":"threshold"}"#)
            case .probe: _ = pi.waits(60_000)
            case .abort: _ = pi.aborts("r1")
            }
            return pi
        }

        /// Milliseconds.
        var limit: Int64 {
            switch self {
            case .barrier, .probe: 30_000
            case .prompt: 1_800_000
            case .abort: 15_000
            }
        }
    }

    @Test(
        "what it was asked it may answer for as long as ever, whichever of alarm and news comes first",
        arguments: Asked.allCases, [true, false])
    func requests(_ asked: Asked, isTold: Bool) {
        var pi = asked.conversation
        #expect(pi.sleeps(1_860, isTold: isTold) == [])
        #expect(!pi.waits(asked.limit - 1).contains("kill 1"))
        #expect(pi.waits(1).contains("kill 1"))
    }

    @Test("a wall clock that moved on alone is a sleep as well")
    func stoodStill() {
        var pi = Asked.probe.conversation
        pi.wallAhead = 3_600_000
        #expect(pi.waits(59_999) == [])
        #expect(pi.waits(1).contains("kill 1"))
    }

    @Test("news of a sleep that an alarm has shown already gives no more time")
    func toldTwice() {
        var pi = Asked.probe.conversation
        _ = pi.sleeps(1_860)
        _ = pi.waits(5_000)
        _ = pi.sleeps(0, isTold: true)
        #expect(pi.waits(25_000).contains("kill 1"))
    }

    @Test("the end of a loop is in doubt for as long as ever: a retry may follow")
    func settling() {
        var pi = PiConversation.going()
        _ = pi.says(PiSays.said("", stop: "error"))
        _ = pi.says(PiSays.ended)
        #expect(pi.sleeps(60) == [])
        let retry = #"{"type":"auto_retry_start","attempt":1,"delayMs":2000,"errorMessage":"429"}"#
        #expect(pi.says(retry).first?.hasPrefix("r1 pi-ses_1 retrying") == true)
    }

    @Test("a process that is to end by itself may do so")
    func leaving() {
        var pi = PiConversation.ready()
        #expect(pi.waits(600_000) == ["end 1"])
        #expect(pi.sleeps(60) == [])
        #expect(pi.waits(3_000) == ["kill 1"])
    }

    @Test("a pi that is asked for its models alone may answer")
    func models() {
        var pi = PiConversation()
        _ = pi.asks(.models)
        _ = pi.spawns()
        #expect(pi.sleeps(60) == [])
        #expect(pi.waits(20_000).contains("kill 1"))
    }
}
