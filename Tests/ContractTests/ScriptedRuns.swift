import Vocabulary
import Worlds

/// A double's work on the contract's prompts. A known run id begins nothing.
final class ScriptedRuns {
    enum Event {
        case text(String), tool(id: String, name: String), tooled(id: String, result: String)
        case ask(id: String, title: String), decided(id: String, isYes: Bool), end(text: String, isAborted: Bool)
    }

    enum Found: String { case running, over, aborted, unknown }

    private final class Run {
        let text: String
        var said = ""
        var state = Found.running
        var approval: String?

        init(_ text: String) { self.text = text }
    }

    static let texts = [
        "Say.": "One. Two. Three.", "Tool.": "I look. It is full.", "Ask.": "May I? Done.", "Long.": "Begun. ",
    ]

    private let time: VirtualTime
    /// Receives the events of runs.
    var emit: (_ run: String, _ event: Event) -> Void = { _, _ in }
    private var runs: [String: Run] = [:]
    private(set) var begun: [String: Int] = [:]
    private(set) var decisions: [String] = []
    /// Texts whose work is done.
    private(set) var finished: Set<String> = []
    private var decided: Set<String> = []
    var breaches: [String] = []

    init(_ time: VirtualTime) { self.time = time }

    /// Undecided approvals with their runs.
    var open: [(run: String, approval: String)] {
        runs.compactMap { run in run.value.approval.map { (run.key, $0) } }.sorted { $0.approval < $1.approval }
    }

    var isBusy: Bool { runs.values.contains { $0.state == .running } }

    func prompt(_ id: String, _ text: String) {
        guard runs[id] == nil else { return }
        runs[id] = Run(text)
        begun[text, default: 0] += 1
        switch text {
        case "Say.": go(id, [(100, .text("One. ")), (200, .text("Two. ")), (200, .text("Three.")), (100, nil)])
        case "Tool.":
            go(
                id,
                [
                    (50, .text("I look. ")), (100, .tool(id: "t1", name: "df")),
                    (300, .tooled(id: "t1", result: "61%")), (100, .text("It is full.")), (50, nil),
                ])
        case "Ask.": go(id, [(50, .text("May I? ")), (100, .ask(id: "a-\(id)", title: "Reboot?"))])
        case "Long.": go(id, [(50, .text("Begun. ")), (3_600_000, nil)])
        default: breaches.append("prompt \(text)")
        }
    }

    private func go(_ id: String, _ steps: [(milliseconds: Int64, event: Event?)]) {
        guard let step = steps.first else { return }
        time.after(.milliseconds(step.milliseconds)) { [self] in
            guard let run = runs[id], run.state == .running else { return }
            switch step.event {
            case .text(let text): run.said += text
            case .ask(let approval, _): run.approval = approval
            case .tool, .tooled, .decided, .end, nil: break
            }
            guard let event = step.event else { return end(id, run, .over) }
            emit(id, event)
            go(id, Array(steps.dropFirst()))
        }
    }

    private func end(_ id: String, _ run: Run, _ state: Found) {
        run.state = state
        if state == .over { finished.insert(run.text) }
        emit(id, .end(text: run.said, isAborted: state == .aborted))
    }

    func decide(_ approval: String, isYes: Bool) {
        decisions.append(isYes ? "yes" : "no")
        guard let (id, run) = runs.first(where: { $0.value.approval == approval }) else {
            // The bridge may have been away when the decision was confirmed.
            if !decided.contains(approval) { breaches.append("decision on \(approval)") }
            return
        }
        run.approval = nil
        decided.insert(approval)
        emit(id, .decided(id: approval, isYes: isYes))
        if isYes { go(id, [(50, .text("Done.")), (50, nil)]) } else { go(id, [(50, nil)]) }
    }

    func stop(_ id: String) {
        guard let run = runs[id], run.state == .running else { return }
        run.approval = nil
        end(id, run, .aborted)
    }

    func look(_ id: String) -> (found: Found, text: String) {
        runs[id].map { ($0.state, $0.said) } ?? (.unknown, "")
    }

    /// The program of these runs is gone, and its transcript holds only finished ones.
    func lose(_ ids: Set<String>) {
        for id in ids where runs[id]?.state == .running { runs[id] = nil }
    }
}
