/// A figure under the name that Prometheus reads. `Metric.all` lists all of them, and docs/METRICS.md is its table.
///
/// Values of labels come from sets that are known when the bridge starts. No label holds an id, a word of a chat, or a name that a user wrote
/// other than the connection's.
package struct Metric: Sendable {
    package enum Kind: String, Sendable { case counter, gauge, histogram }

    package let name: String
    package let kind: Kind
    /// `seconds`, `bytes`, or the noun that is counted.
    package let unit: String
    package let help: String
    package let labels: [String]

    private init(_ name: String, _ kind: Kind, in unit: String, by labels: [String] = [], _ help: String) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.help = help
        self.labels = labels
    }

    private static func ours(
        _ name: String, _ kind: Kind, in unit: String, by labels: [String] = [], _ help: String
    ) -> Metric {
        Metric("sophon_bridge_\(name)", kind, in: unit, by: labels, help)
    }

    package static let buildInfo = ours(
        "build_info", .gauge, in: "1", by: ["version"], "Version of the running bridge.")
    package static let turns = ours(
        "turns_total", .counter, in: "turns", by: ["connection", "outcome"], "Turns that ended.")
    package static let relayCalls = ours(
        "relay_calls_total", .counter, in: "tries", by: ["connection", "method", "outcome"],
        "Tries of calls to the relay that were answered or given up.")
    package static let relayRefusals = ours(
        "relay_refusals_total", .counter, in: "answers", by: ["connection", "code"], "Refusals by the relay.")
    package static let bucketLevel = ours(
        "bucket_level", .gauge, in: "calls", by: ["connection", "bucket"],
        "Calls that a rate limit of the relay allows now.")
    package static let laneWaiting = ours(
        "lane_waiting", .gauge, in: "posts", by: ["connection"], "Posts that wait for their call to the relay.")
    package static let laneOldest = ours(
        "lane_oldest_seconds", .gauge, in: "seconds", by: ["connection"],
        "Age of the post that has waited longest; 0 where none waits.")
    package static let placeholder = ours(
        "placeholder_seconds", .histogram, in: "seconds",
        "Time from a message's arrival until the relay has its bubble.")
    package static let addedLatency = ours(
        "added_latency_seconds", .histogram, in: "seconds",
        "Time from an agent's text until the call that carries it leaves.")
    package static let approvalsOpen = ours(
        "approvals_open", .gauge, in: "asks", "Approvals that wait for a person.")
    package static let questionsOpen = ours(
        "questions_open", .gauge, in: "questions", "Questions that wait for a person.")
    package static let asksUnanswered = ours(
        "asks_unanswered", .gauge, in: "asks",
        "Open approvals and questions whose last display ended without an answer.")
    package static let linkUp = ours(
        "link_up", .gauge, in: "1", by: ["connection", "side"], "1 while the link to that side is up.")
    package static let reconnects = ours(
        "reconnects_total", .counter, in: "links", by: ["connection", "side"], "Links that came back after a loss.")
    package static let agentProcesses = ours(
        "agent_processes", .gauge, in: "processes", "Processes of agents that the bridge has started and that run.")
    package static let notices = ours(
        "notify_total", .counter, in: "notices", by: ["event", "outcome"], "Tries of notices, and notices dropped.")
    package static let journalBytes = ours(
        "journal_bytes", .gauge, in: "bytes", "Size of the journal with its log.")
    package static let journalCommit = ours(
        "journal_commit_seconds", .histogram, in: "seconds", "Time that a transaction of the journal took.")
    package static let logDropped = ours(
        "log_dropped_total", .counter, in: "lines", "Lines of the log that were dropped because nothing read them.")
    package static let heldBytes = ours("held_bytes", .gauge, in: "bytes", "Bytes that wait in memory.")
    package static let residentMemory = Metric(
        "process_resident_memory_bytes", .gauge, in: "bytes", "Resident memory of the process.")

    /// All metrics, in the order of the page.
    package static let all = [
        buildInfo, turns, relayCalls, relayRefusals, bucketLevel, laneWaiting, laneOldest, placeholder, addedLatency,
        approvalsOpen, questionsOpen, asksUnanswered, linkUp, reconnects, agentProcesses, notices, journalBytes,
        journalCommit, logDropped, heldBytes, residentMemory,
    ]
}
