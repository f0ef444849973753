import AgentHosting
import AgentKit
import BridgeService
import Children
import Files
import Journal
import Locking
import Vocabulary

/// Children of a bridge that the journal names and that still run. Process and start time identify a child, so that a later process with the same
/// number is never mistaken for it.
struct LivingChildren {
    struct Child {
        var connection: ConnectionName
        var process: KeptProcess

        /// Words for `status` and the log.
        var words: String {
            let program = process.program.isEmpty ? process.agent.rawValue : process.program
            return "\(program), process \(process.name.id) of connection \(connection)"
        }

        var json: JSONText {
            JSONText.object([
                ("connection", .string(connection.text)), ("agent", .string(process.agent.rawValue)),
                ("pid", .number(Int(process.name.id))), ("program", .string(process.program)),
                ("life", .string(process.life?.rawValue ?? "")),
            ])
        }
    }

    /// Time from SIGTERM to SIGKILL.
    static let grace = Duration.seconds(5)

    private(set) var all: [Child] = []

    /// Empty without a journal.
    init(in directory: String) {
        guard let settings = try? JournalReader(directory: directory).settings() else { return }
        let known = settings.compactMap { setting in
            KeptProcess(setting: setting.name, value: setting.value).map {
                Child(connection: setting.connection, process: $0)
            }
        }
        let living = Set(ProcessTable.living(known.map(\.process.name)))
        all = known.filter { living.contains($0.process.name) }
    }

    /// Children that do not end with the bridge.
    var outliving: [Child] { all.filter { $0.process.life == .outlives || $0.process.life == .byItself } }

    /// Ends the agents of a connection that is left, since nobody will look for them again, but none while a bridge runs there, which owns them.
    /// Returns those that could not be ended.
    static func endAll(of name: ConnectionName, in directory: String, _ output: Output) throws -> [Child] {
        let children = LivingChildren(in: directory).all.filter { $0.connection == name }
        guard !children.isEmpty, try InstanceLock.holder(directory: directory) == .nobody else { return [] }
        let ended = end(children)
        for child in ended {
            output.event("agent_ended", [("process", child.json), ("ended", .flag(true))])
            output.line("ended \(child.words)")
        }
        let names = Set(ended.map(\.process.name))
        return children.filter { !names.contains($0.process.name) }
    }

    static func notEnded(_ children: [Child], _ consequence: String) -> CommandFailure {
        CommandFailure(
            code: .unexpected,
            message:
                "\(children.map(\.words).joined(separator: "; ")) cannot be ended\(consequence); end it as the user whose process it "
                + "is, then run this again")
    }

    /// Returns once the children and all their descendants are gone, or cannot be ended. The result holds those that were ended.
    static func end(_ children: [Child], grace: Duration = Self.grace) -> [Child] {
        let left = Locked(children.count)
        for child in children {
            let isBegun = ProcessTable.end(child.process.name, grace: grace) { left.withLock { $0 -= 1 } }
            if !isBegun { left.withLock { $0 -= 1 } }
        }
        _ = Pace.wait(atMost: grace + grace + .seconds(1)) { left.withLock { $0 == 0 } }
        let living = Set(ProcessTable.living(children.map(\.process.name)))
        return children.filter { !living.contains($0.process.name) }
    }
}
