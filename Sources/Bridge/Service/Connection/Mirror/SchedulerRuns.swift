import AgentKit
import Vocabulary

/// Runs that the agent's scheduler began (openclaw.md#small-ones, `cron`).
///
/// If the gateway names the run, the name decides. Otherwise it is the first run that begins in the job's session after the job's `started`
/// and before its `finished`; an event without a session means the session that carries the job's name.
///
/// States of a job that names no run:
/// - open: it has started. Can become: taken (a run of its session begins), doubtful, closed.
/// - taken: its run is known; other runs that begin in the session are not the job's.
/// - doubtful: two runs could be meant, because another open job has the same session, or because another client's run was active there
/// when the job started. It takes none: better a job that is not shown than a private run that is.
/// - closed: finished, restarted, older than an hour, or the link was lost.
struct SchedulerRuns: Sendable {
    private struct Job {
        enum State { case open, taken, doubtful }

        var name: String?
        var session: AgentSession?
        var startedAt: Instant
        var state = State.open

        func isMeant(in candidate: AgentSession) -> Bool {
            if let session { return session == candidate }
            guard let name, !name.isEmpty else { return false }
            let own = ":cron:\(name.lowercased())"
            return candidate.text.hasSuffix(own) || candidate.text.contains("\(own):")
        }
    }

    private static let jobsLimit = 256
    private static let namesLimit = 4_096
    private static let othersLimit = 4_096
    private static let patience = Duration.seconds(3_600)

    private var jobs: [Job] = []
    private var names: Set<RunID> = []
    private var namesInOrder: [RunID] = []
    /// Active runs of other clients, by session.
    private var others: [AgentSession: Set<RunID>] = [:]
    private var otherCount = 0
    /// True if more runs were active than `others` can name: their sessions are unknown.
    private var hasForgottenOthers = false

    mutating func started(_ job: AgentJob, at now: Instant) {
        if let run = job.run { return remember(run) }
        close(job)
        jobs.removeAll { now - $0.startedAt > Self.patience }
        guard jobs.count < Self.jobsLimit else { return }
        var new = Job(name: job.name, session: job.session, startedAt: now)
        if hasForgottenOthers || others.keys.contains(where: { new.isMeant(in: $0) }) { new.state = .doubtful }
        for index in jobs.indices where jobs[index].state != .taken && Self.mayMeet(jobs[index], new) {
            jobs[index].state = .doubtful
            new.state = .doubtful
        }
        jobs.append(new)
    }

    mutating func finished(_ job: AgentJob) { close(job) }

    /// Forgets jobs and runs, since events were missed meanwhile; named runs stay known.
    mutating func linkLost() {
        jobs = []
        (others, otherCount, hasForgottenOthers) = ([:], 0, false)
    }

    /// Judges a run at its first signal; `begins` is true if that is the run's beginning.
    mutating func isScheduled(_ run: RunID, in session: AgentSession, begins: Bool, at now: Instant) -> Bool {
        if names.contains(run) { return true }
        let meant = jobs.indices.filter { index in
            jobs[index].isMeant(in: session) && jobs[index].state != .taken
                && now - jobs[index].startedAt <= Self.patience
        }
        guard begins, meant.count == 1, let index = meant.first, jobs[index].state == .open else {
            noteOther(run, in: session)
            return false
        }
        jobs[index].state = .taken
        return true
    }

    mutating func ended(_ run: RunID, in session: AgentSession) {
        guard others[session]?.remove(run) != nil else { return }
        otherCount -= 1
        if others[session]?.isEmpty == true { others[session] = nil }
    }

    private mutating func noteOther(_ run: RunID, in session: AgentSession) {
        guard otherCount < Self.othersLimit else {
            hasForgottenOthers = true
            return
        }
        if others[session, default: []].insert(run).inserted { otherCount += 1 }
    }

    /// A job runs once at a time, so its name closes it; a job without a name is closed by its session.
    private mutating func close(_ job: AgentJob) {
        jobs.removeAll { job.name == nil ? $0.name == nil && $0.session == job.session : $0.name == job.name }
    }

    private static func mayMeet(_ one: Job, _ other: Job) -> Bool {
        if let session = other.session { return one.isMeant(in: session) }
        if let session = one.session { return other.isMeant(in: session) }
        return one.name == other.name
    }

    private mutating func remember(_ run: RunID) {
        guard names.insert(run).inserted else { return }
        namesInOrder.append(run)
        guard namesInOrder.count > 2 * Self.namesLimit else { return }
        for old in namesInOrder.prefix(Self.namesLimit) { names.remove(old) }
        namesInOrder.removeFirst(Self.namesLimit)
    }
}
