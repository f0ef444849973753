import BridgeService
import Files
import Glibc
import Journal
import Vocabulary

/// A bridge as its state directory shows it, for `status` and `top`.
struct StatusReading {
    let isRunning: Bool
    let status: BridgeStatus?
    let health: Health
    let wall: Int64
    private let children: LivingChildren

    init(_ directory: String) throws {
        isRunning = try InstanceLock.holder(directory: directory) != .nobody
        var status = try StatusFile.read(in: directory)
        if isRunning { status?.count(openTurns: Self.openTurns(in: directory)) }
        self.status = status
        wall = SystemClock().wallMilliseconds
        health = Health(
            status: status, isLocked: isRunning, isStateWritable: access(directory, W_OK | X_OK) == 0,
            wallMilliseconds: wall)
        children = LivingChildren(in: directory)
    }

    /// Agents that live on when the bridge ends.
    var outliving: [LivingChildren.Child] { children.outliving }

    /// The journal's open turns, or empty if it cannot be read, so that the counts of `status.json` apply.
    private static func openTurns(in directory: String) -> [ConnectionName: Int] {
        guard let summary = try? JournalReader(directory: directory).summary() else { return [:] }
        return Dictionary(summary.connections.map { ($0.name, $0.openTurns) }) { first, _ in first }
    }

    /// The members of the JSON object.
    var members: [(String, JSONText)] {
        let faults = health.findings.map {
            JSONText.object([("fault", .string($0.fault.rawValue)), ("message", .string($0.message))])
        }
        var members: [(String, JSONText)] = [
            ("running", .flag(isRunning)), ("healthy", .flag(health.isHealthy)),
            ("ready", .flag(isRunning && status?.ready == true)), ("faults", .list(faults)),
            ("processes", .list(outliving.map(\.json))),
        ]
        if let status {
            members.append(
                ("status", JSONText(unchecked: String(decoding: StatusFile.bytes(of: status), as: UTF8.self))))
        }
        return members
    }
}
