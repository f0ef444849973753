import Vocabulary

/// A silent run, and the task of its bubble that says how it is (DESIGN.md#silence).
///
/// States of a stretch of silence: *heard* (no task), *shown* (a task says how the run is). A sign of life, a command to the agent and the
/// bubble's end finish the task; the next stretch has one of its own.
///
/// Invariants:
/// - A task is created once and finished once, before the bubble's end. No other stretch has its name, not even after a restart.
/// - A task speaks at most once in `pace`, and never once the run is heard again.
/// - The words come from structured state alone: no clock of the agent, no reading of text.
/// - `isStuckTold` is never reset: the chat has one line about it, however many processes carry the turn.
/// - `due` does not move with signs of life, so that a frame costs no more than to keep its time.
struct TurnSilence: Sendable, Hashable {
    static let pace = Duration.seconds(60)
    /// Time from the agent's first word that it retries its model to the task that says so.
    static let retryPatience = Duration.seconds(30)
    /// Pause before a task whose bucket was low tries again.
    static let heldBackFor = Duration.seconds(10)
    /// Most stretches of one turn that get a task.
    static let taskLimit = 100

    struct Told: Sendable, Hashable {
        var task: TaskID
        var label: String
        var at: Instant
    }

    /// The last sign of life, or the last command to the agent. Not stored: a restart resets the silence.
    var heardAt = Instant.zero
    var isCompacting = false
    /// The agent's first word that it retries its model. Not stored.
    var retriesSince: Instant?
    /// The last words of a task. Not stored.
    var saidAt: Instant?
    /// The next look at the silence. Not stored.
    var due: Instant?
    /// Tasks created so far.
    var tasks = 0
    var told: Told?
    var isStuckTold = false
    /// Tools at work after the bubble's end, which has finished their cards.
    var tools: Set<ToolCallID> = []

    /// The moment at which a task is due.
    func end(ofQuiet quiet: Duration) -> Instant {
        let end = heardAt + quiet
        guard let retriesSince else { return end }
        let mayBeSaid = saidAt.map { $0 + Self.pace } ?? retriesSince
        return min(end, max(retriesSince + Self.retryPatience, mayBeSaid))
    }

    mutating func heard(_ event: ToolEvent) {
        switch event {
        case .started(let start): if tools.count < Self.taskLimit { tools.insert(start.call) }
        case .progress: break
        case .finished(let result): tools.remove(result.call)
        }
    }

    mutating func finish(label: String? = nil) -> Post? {
        guard let task = told?.task else { return nil }
        told = nil
        return .taskEnded(TaskEnd(task: task, name: StatusTask.kind, status: .completed, label: label))
    }

    /// A task that was never tried passes its name on, and a label that was never tried counts as unsent.
    mutating func heldBack(_ name: PostName, at now: Instant) {
        switch name {
        case .taskStarted(let task) where told?.task == task: (told, tasks) = (nil, tasks - 1)
        case .taskProgress(let task) where told?.task == task:
            told?.label = ""
            told?.at = now + Self.heldBackFor - Self.pace
        default: break
        }
    }

    /// The relay could not make the task.
    mutating func drop(_ task: TaskID) { if told?.task == task { told = nil } }
}

/// Tasks that say how a run is. The relay and the phone see them as tasks of tools.
enum StatusTask {
    static let kind = "status"
    private static let prefix = "bridge-status-"

    /// Task ids are unique in a session at the relay, and a turn has several.
    static func name(_ number: Int, of turn: TurnID) -> TaskID {
        TaskID("\(prefix)\(StableHash.text(of: turn.text, length: 16))-\(number)")
    }

    static func isOne(_ task: TaskID) -> Bool { task.text.hasPrefix(prefix) }
}

/// The cause of a run's silence, as far as structured state has it.
enum RunWait: Hashable {
    case person, run, files, link, retry, compaction
    case tool(String, since: Instant?)
    /// The structured state does not say.
    case unknown

    /// No person is asked, no tool runs, and the bridge knows of nothing else that holds the run up.
    var mayBeStuck: Bool {
        switch self {
        case .retry, .compaction, .unknown: true
        case .person, .run, .files, .link, .tool: false
        }
    }
}

extension Turn {
    var wait: RunWait {
        if asksPerson { return .person }
        if agent.isAway { return .link }
        // The run of the session takes the words behind a tool.
        if agent.refusal != nil, phase == .handedOver { return .run }
        if agent.isBesideRun, phase == .handedOver || phase == .running { return .run }
        switch phase {
        case .fetching: return .files
        case .waiting: return .run
        case .awaitingKey, .answering, .handedOver, .running, .holding, .asking, .searching, .over, .closed: break
        }
        if silence.retriesSince != nil { return .retry }
        if let call = tools.newestRunning { return .tool(call.label ?? call.name, since: call.began) }
        if !silence.tools.isEmpty { return .tool("a tool", since: nil) }
        if runs.isRetrying { return .retry }
        return silence.isCompacting ? .compaction : .unknown
    }

    private var asksPerson: Bool {
        !approvals.isEmpty && approvals.approvals.values.contains { $0.state == .open }
            || agent.questions.all.contains { $0.state == .open }
    }

    /// The label of the task, and the line in the list of `/bridge status`.
    func words(of wait: RunWait, at now: Instant) -> String {
        switch wait {
        case .person: "waits for you"
        case .run: "waits behind a run"
        case .files: "waits for its files"
        case .link: "the agent\u{2019}s link is away"
        case .retry: "tries again"
        case .compaction: "the agent sums up the conversation"
        case .tool(let name, let began): Self.words(ofTool: name, since: began, settings.localTime, at: now)
        case .unknown: "no sign of life for \(Self.span(now - silence.heardAt))"
        }
    }

    static func words(ofTool name: String, since began: Instant?, _ clock: LocalTime?, at now: Instant) -> String {
        let tool = TextCut.marked(VisibleText.line(name), atMost: 120)
        guard let began else { return "\(tool) runs" }
        guard let hour = clock?.hour(of: began) else { return "\(tool) runs for \(span(now - began))" }
        return "\(tool) runs since \(hour)"
    }

    static func span(_ duration: Duration) -> String {
        let minutes = max(0, duration.components.seconds / 60)
        return switch minutes {
        case 0: "less than a minute"
        case ..<120: "\(minutes) min"
        default: "\(minutes / 60) h"
        }
    }

    // MARK: Signs of life

    /// The bubble shows a status task.
    var tellsStatus: Bool { silence.told != nil }

    /// A sign of life, or a command to the agent, restarts the silence.
    mutating func isHeard(at now: Instant) -> [TurnOrder] {
        isAlive(.working, at: now)
        guard silence.told != nil, let end = silence.finish(label: Sentences.goesOn) else { return [] }
        return bubble.isOver ? [] : [.post(end)]
    }

    /// Keeps the time alone, since it happens with every frame.
    mutating func isAlive(_ activity: RunActivity, at now: Instant) {
        silence.heardAt = now
        silence.isCompacting = activity == .compacting
        silence.retriesSince = nil
    }

    mutating func retries(at now: Instant) {
        guard silence.retriesSince == nil else { return }
        silence.retriesSince = now
        silence.due = nextSilence(at: now)
    }

    // MARK: Time

    /// Called at the turn's first moment, after a restart, and with another configuration.
    mutating func watchSilence(at now: Instant) -> [TurnOrder] {
        silence.due = nextSilence(at: now)
        guard settings.quiet == nil, silence.told != nil, let end = silence.finish() else { return [] }
        return bubble.isOver ? [] : [.post(end)]
    }

    /// Restarts the silence after a restart: signs of life between two records are unknown.
    mutating func silenceResumes(at now: Instant) -> [TurnOrder] {
        silence.heardAt = now
        silence.told?.at = now
        silence.saidAt = now
        return watchSilence(at: now)
    }

    func nextSilence(at now: Instant) -> Instant? {
        guard outcome == nil else { return nil }
        var next: Instant?
        // The hindrance may end a moment later, so a due moment that has passed comes again.
        func consider(_ due: Instant, again: Duration) {
            let due = due > now ? due : now + again
            next = next.map { min($0, due) } ?? due
        }
        if let quiet = settings.quiet, !bubble.isOver {
            let due = silence.told.map { $0.at + TurnSilence.pace } ?? silence.end(ofQuiet: quiet)
            consider(due, again: TurnSilence.pace)
        }
        if let stuck = settings.stuck, !silence.isStuckTold { consider(silence.heardAt + stuck, again: .seconds(300)) }
        return next
    }

    mutating func silenceIsDue(at now: Instant) -> [TurnOrder] {
        guard let due = silence.due, due <= now else { return [] }
        let silent = now - silence.heardAt
        var orders: [TurnOrder] = []
        if mayTellStatus, let quiet = settings.quiet, now >= silence.end(ofQuiet: quiet) {
            orders += tellStatus(at: now)
        }
        if let stuck = settings.stuck, silent >= stuck { orders += tellStuck(at: now) }
        silence.due = nextSilence(at: now)
        return orders
    }

    private var mayTellStatus: Bool {
        guard outcome == nil, !agent.isStopping, !bubble.isOver, !bubble.isUnopened, opening.sealing.canSpeak else {
            return false
        }
        switch phase {
        case .fetching, .waiting, .handedOver, .running, .holding: return true
        case .awaitingKey, .answering, .asking, .searching, .over, .closed: return false
        }
    }

    private mutating func tellStatus(at now: Instant) -> [TurnOrder] {
        let label = words(of: wait, at: now)
        guard let told = silence.told else {
            guard silence.tasks < TurnSilence.taskLimit else { return [] }
            silence.tasks += 1
            silence.saidAt = now
            let task = StatusTask.name(silence.tasks, of: opening.id)
            silence.told = TurnSilence.Told(task: task, label: label, at: now)
            return [.post(.taskStarted(TaskStart(task: task, kind: StatusTask.kind, label: label)))]
        }
        guard label != told.label, now >= told.at + TurnSilence.pace else { return [] }
        silence.told?.label = label
        silence.told?.at = now
        silence.saidAt = now
        return [.post(.taskProgress(TaskProgress(task: told.task, label: label)))]
    }

    /// The turn continues: a run may take hours, and nothing here shows what it does.
    private mutating func tellStuck(at now: Instant) -> [TurnOrder] {
        guard outcome == nil, !agent.isStopping, !silence.isStuckTold, wait.mayBeStuck else { return [] }
        switch phase {
        case .handedOver, .running: break
        case .awaitingKey, .fetching, .waiting, .answering, .holding, .asking, .searching, .over, .closed: return []
        }
        silence.isStuckTold = true
        guard opening.sealing.canSpeak else { return [.stuck] }
        return show(isInRunOfOthers ? Sentences.stillNothingOfOthers : Sentences.stillNothing).orders + [.stuck]
    }

    /// The bucket of tasks was too low for a status task, or for the task's next label.
    mutating func statusHeldBack(_ name: PostName, at now: Instant) -> [TurnOrder] {
        silence.heldBack(name, at: now)
        if settings.quiet != nil { silence.due = now + TurnSilence.heldBackFor }
        return []
    }

    /// Ends of all open tasks of the bubble.
    mutating func finishTasks(status: ToolResult.Status, label: String? = nil) -> [Post] {
        if outcome == nil { silence.tools = tools.running }
        return tools.finishAll(status: status, label: label) + [silence.finish(label: label)].compactMap(\.self)
    }
}
