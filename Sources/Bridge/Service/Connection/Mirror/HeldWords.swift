import Vocabulary

/// Signals of a run that has no chat yet; `Mirroring` bounds their bytes. Growing text is kept once.
struct HeldWords: Sendable, Hashable {
    private(set) var signals: [RunSignal] = []
    private(set) var bytes = 0

    mutating func take(_ signal: RunSignal) {
        if case .text(let change) = signal.event, let last = signals.last, case .text(let earlier) = last.event,
            let joined = change.joined(to: earlier)
        {
            bytes -= Self.weight(of: last)
            signals.removeLast()
            append(RunSignal(run: signal.run, session: signal.session, event: .text(joined)))
        } else {
            append(signal)
        }
    }

    private mutating func append(_ signal: RunSignal) {
        signals.append(signal)
        bytes += Self.weight(of: signal)
    }

    /// Approximate size in memory.
    private static func weight(of signal: RunSignal) -> Int {
        let said: Int =
            switch signal.event {
            case .started, .approvalSettled, .questionSettled, .paused: 0
            case .text(.append(let text)), .text(.snapshot(let text)), .text(.segment(let text)),
                .text(.replaced(let text)):
                text.utf8.count
            case .text(.segmentEnded(let text)): text?.utf8.count ?? 0
            case .tool(.started(let start)): start.arguments?.text.utf8.count ?? 0
            case .tool(.progress(let progress)): progress.output?.utf8.count ?? 0
            case .tool(.finished(let result)):
                (result.result?.text.utf8.count ?? 0) + (result.error?.utf8.count ?? 0)
            case .approvalRequested(let request): request.message.utf8.count + (request.command?.utf8.count ?? 0)
            case .asked(let question): question.heldBytes
            case .retrying(let reason): reason.utf8.count
            case .alive: 0
            case .finished(let end): end.text?.utf8.count ?? 0
            case .failed(let failure): failure.message.utf8.count + (failure.text?.utf8.count ?? 0)
            }
        return said + 400
    }
}

extension TextChange {
    /// One change that means the same as both in order, if there is one.
    fileprivate func joined(to earlier: TextChange) -> TextChange? {
        switch (earlier, self) {
        case (.append(let text), .append(let addition)): .append(text + addition)
        case (.snapshot(let text), .append(let addition)): .snapshot(text + addition)
        case (.append, .snapshot), (.snapshot, .snapshot): self
        case (.segment(let text), .segment(let longer)) where longer.hasPrefix(text): self
        case (.replaced(let text), .append(let addition)): .replaced(text + addition)
        case (.replaced, .replaced): self
        case (.append, _), (.snapshot, _), (.segment, _), (.replaced, _), (.segmentEnded, _): nil
        }
    }
}
