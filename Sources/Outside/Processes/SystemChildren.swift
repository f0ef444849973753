import CPosix
import Glibc
import Locking
import OSThreads
package import Vocabulary

/// Children of this process. Each has two threads: one carries its pipes and delivers its events, one waits for its exit.
///
/// - One thread, which lives as long as the process, forks them all (`ForkThread`), each into a process group of its
///   own, or into a session of its own if it outlives the bridge. A child inherits no descriptor of the bridge.
/// - A child waits at a gate until it is recorded, and runs only then: a bridge that dies in between leaves nothing behind.
package struct SystemChildren: ChildRunner {
    private let plumbing: Plumbing

    package init() { plumbing = Plumbing(makePipe: { sb_pipe($0) }) }
    init(plumbing: Plumbing) { self.plumbing = plumbing }

    package func start(
        _ plan: ChildPlan, record: (@Sendable (ProcessName, @escaping @Sendable (Bool) -> Void) -> Void)?,
        handler: @escaping @Sendable (ChildEvent) -> Void
    ) -> any ChildLink {
        // A child runs as the bridge's user, and could read the relay's token in the bridge's memory and environment.
        sb_process_hide()
        let control = ChildControl(sendLimit: plan.sendLimit)
        let child = SystemChild(control: control, life: plan.life)
        let plumbing = plumbing
        guard control.wakeUp.descriptor >= 0 else {
            control.finish()
            handler(.failed(Plumbing.failure(EMFILE, doing: "start a child")))
            return child
        }
        let isStarted = startThread {
            let launching = Launching(plan: plan, plumbing: plumbing, control: control, record: record)
            let last: ChildEvent
            do throws(ChildFailure) {
                let loop = try launching.run(handler)
                last = loop.run()
            } catch {
                last = .failed(error)
            }
            control.finish()
            handler(last)
        }
        if !isStarted {
            control.finish()
            handler(.failed(Plumbing.failure(EAGAIN, doing: "start a child")))
        }
        return child
    }
}

final class SystemChild: ChildLink {
    private let control: ChildControl
    private let life: ChildPlan.Life

    init(control: ChildControl, life: ChildPlan.Life) {
        self.control = control
        self.life = life
    }

    deinit {
        switch life {
        case .withBridge: control.end(.bySteps)
        case .byItself: control.closeInput()
        case .outlives: break
        }
        control.resumeReading()
    }

    @discardableResult
    func send(_ bytes: [UInt8], telling: Int?) -> Bool { control.send(bytes, telling: telling) }
    func closeInput() { control.closeInput() }
    func end(atOnce: Bool) { control.end(atOnce ? .atOnce : .bySteps) }
    func pauseReading() { control.pauseReading() }
    func resumeReading() { control.resumeReading() }
}

/// A forked child at its gate.
struct LaunchedChild {
    var plan: ChildPlan
    var path: String
    var name: ProcessName
}

/// Starts a child up to its gate.
struct Launching {
    let plan: ChildPlan
    let plumbing: Plumbing
    let control: ChildControl
    let record: (@Sendable (ProcessName, @escaping @Sendable (Bool) -> Void) -> Void)?

    func run(_ handler: @escaping @Sendable (ChildEvent) -> Void) throws(ChildFailure) -> ChildLoop {
        let environment = plan.environment.entries(of: Self.ownEnvironment())
        try check(environment)
        let path = try ProgramSearch.path(of: plan.arguments[0], environment: environment)
        let (ours, theirs) = try plumbing.streams(plan.pipes)
        let launch = Launch(
            path: path, arguments: plan.arguments, environment: environment, folder: plan.folder, life: life)
        let id = ForkThread.shared.fork(launch, theirs)
        guard id > 0 else { throw Plumbing.failure(-id, doing: "start \(path)") }
        let control = control
        guard let name = ProcessTable.name(of: id), startThread({ Self.awaitEnd(of: id, control) }) else {
            kill(id, SIGKILL)
            var value: Int32 = 0
            _ = sb_child_reap(id, &value)
            throw Plumbing.failure(EAGAIN, doing: "watch \(path)")
        }
        if let record {
            record(name) { control.release($0) }
        } else {
            control.release(true)
        }
        return ChildLoop(
            LaunchedChild(plan: plan, path: path, name: name), ours, control: control, handler: handler)
    }

    private var life: Launch.ChildLife {
        switch plan.life {
        case .withBridge: Launch.ChildLife(hasSession: false, diesWithParent: true)
        case .byItself: Launch.ChildLife(hasSession: false, diesWithParent: false)
        case .outlives: Launch.ChildLife(hasSession: true, diesWithParent: false)
        }
    }

    private static func awaitEnd(of child: Int32, _ control: ChildControl) {
        sb_child_wait(child)
        control.hasExited()
    }

    private func check(_ environment: [String]) throws(ChildFailure) {
        guard let program = plan.arguments.first, !program.isEmpty else {
            throw ChildFailure(.badPlan, "no command was given for the child")
        }
        guard !(plan.arguments + environment + [plan.folder]).contains(where: { $0.utf8.contains(0) }) else {
            throw ChildFailure(
                .badPlan, "a NUL character is in the command, the folder or the environment of \(program)")
        }
        if let name = plan.environment.adding.keys.first(where: { $0.isEmpty || $0.utf8.contains(UInt8(ascii: "=")) }) {
            throw ChildFailure(.badPlan, "`\(name)` can be no name of an environment variable; names have no `=`")
        }
    }

    static func ownEnvironment() -> [String] {
        var entries: [String] = []
        var next = environ
        while let entry = next.pointee {
            entries.append(String(cString: entry))
            next += 1
        }
        return entries
    }
}
