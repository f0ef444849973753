import OSThreads
import Testing
import Vocabulary

@testable import Children

@Suite("The steps of a child's end")
struct EndingStepsTests {
    private let start = Deadline.now

    private func steps(_ life: ChildPlan.Life, lines: Bool = true) -> EndingSteps {
        EndingSteps(life, lines ? .lines(limit: 1) : .none(log: "/log"))
    }

    /// Steps due at each of these seconds.
    private func due(_ steps: inout EndingSteps, at seconds: [Int64]) -> [[EndingSteps.Step]] {
        seconds.map { second in
            var found: [EndingSteps.Step] = []
            while let step = steps.next(at: start + .seconds(second)) { found.append(step) }
            return found
        }
    }

    @Test("end of input, SIGTERM and SIGKILL, a grace apart", arguments: [true, false])
    func inOrder(_ endsWithBridge: Bool) {
        var steps = steps(endsWithBridge ? .withBridge(grace: .seconds(3)) : .byItself(grace: .seconds(3)))
        #expect(due(&steps, at: [0]) == [[]])
        #expect(steps.deadline == nil)
        steps.ask(atOnce: false, at: start)
        #expect(due(&steps, at: [0, 2, 3, 5, 6, 60]) == [[.closeInput], [], [.terminate], [], [.kill], []])
        #expect(steps.deadline == nil)
    }

    @Test("a thread that comes late does one step, and gives the next its grace")
    func late() {
        var steps = steps(.withBridge(grace: .seconds(3)))
        steps.ask(atOnce: false, at: start)
        #expect(due(&steps, at: [10, 12, 13]) == [[.closeInput], [], [.terminate]])
    }

    @Test("a child without an input, or that outlives the bridge, is told by SIGTERM first")
    func withoutInput() {
        var server = steps(.outlives, lines: false)
        server.ask(atOnce: false, at: start)
        #expect(due(&server, at: [0, 4, 5]) == [[.terminate], [], [.kill]])
        var child = steps(.withBridge(grace: .seconds(1)), lines: false)
        child.ask(atOnce: false, at: start)
        #expect(due(&child, at: [0, 1]) == [[.terminate], [.kill]])
    }

    @Test("asked again, no step comes twice; asked to end at once, the others are left out")
    func atOnce() {
        var steps = steps(.withBridge(grace: .seconds(3)))
        steps.ask(atOnce: false, at: start)
        #expect(due(&steps, at: [0]) == [[.closeInput]])
        steps.ask(atOnce: false, at: start + .seconds(1))
        #expect(due(&steps, at: [1]) == [[]])
        steps.ask(atOnce: true, at: start + .seconds(2))
        #expect(due(&steps, at: [2]) == [[.kill]])
        steps.ask(atOnce: true, at: start + .seconds(3))
        #expect(due(&steps, at: [3]) == [[]])
    }
}
