import BridgeCore
import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Tasks that only say how a run is, in their lane")
struct LaneStatusTests {
    private static let task = StatusTask.name(1, of: LaneConversation.turn)

    private static func start(_ label: String = "waits for you") -> Post {
        .taskStarted(TaskStart(task: task, kind: StatusTask.kind, label: label))
    }

    private static let end = Post.taskEnded(TaskEnd(task: task, name: StatusTask.kind, status: .completed))

    /// The task bucket has just given away this many of its 60 calls.
    private static func drained(_ calls: Int) throws -> LaneConversation {
        var lane = LaneConversation.opened()
        try drain(&lane, calls)
        return lane
    }

    private static func drain(_ lane: inout LaneConversation, _ calls: Int) throws {
        for number in 0..<calls {
            lane.post(.taskStarted(TaskStart(task: TaskID("c\(number)"), kind: "exec")))
            let attempt = try lane.nextCall()
            let rate = RateReading(bucket: .task, limit: 60, remaining: 59 - number)
            _ = lane.delivery.answered(
                attempt.call, with: RelayAnswer(.delivered(RelayReceipt()), rate: rate), at: lane.now,
                using: &lane.random)
        }
    }

    @Test("is made while a fifth of its bucket is left, and held back below", arguments: [(40, true), (55, false)])
    func bucket(calls: Int, isMade: Bool) throws {
        var lane = try Self.drained(calls)
        lane.post(Self.start())
        switch lane.step() {
        case .attempt(let attempt): #expect(isMade && attempt.name == .taskStarted(Self.task))
        case .report(let report):
            #expect(!isMade && report == .post(LaneConversation.turn, .heldBack(.taskStarted(Self.task))))
        case .idle: Issue.record("neither made nor held back")
        }
        #expect(lane.delivery.tally.deadLetters == 0)
    }

    @Test("what it says later is dropped below a fifth, and the lane goes on")
    func progress() throws {
        var lane = LaneConversation.opened()
        lane.post(Self.start())
        _ = try lane.deliverNext()
        try Self.drain(&lane, 55)
        lane.post(.taskProgress(TaskProgress(task: Self.task, label: "another")))
        lane.post(.text("Here."))
        guard case .report(let report) = lane.step() else {
            Issue.record("the turn does not hear of it")
            return
        }
        #expect(report == .post(LaneConversation.turn, .heldBack(.taskProgress(Self.task))))
        #expect(try lane.nextCall().name.isText)
    }

    @Test("the run is heard before it was made: neither it nor its end goes out")
    func untried() throws {
        var lane = LaneConversation(window: .seconds(1_800))
        lane.post(.open)
        lane.post(Self.start())
        lane.post(.taskProgress(TaskProgress(task: Self.task, label: "another")))
        lane.post(Self.end)
        lane.post(.text("Here."))
        _ = try lane.deliverNext()
        #expect(try lane.nextCall().name.isText)
    }

    @Test("one that was tried is finished")
    func tried() throws {
        var lane = LaneConversation.opened()
        lane.post(Self.start())
        let attempt = try lane.nextCall()
        lane.post(Self.end)
        lane.answer(attempt, .delivered(RelayReceipt()))
        #expect(try lane.nextCall().name == .taskEnded(Self.task))
    }
}
