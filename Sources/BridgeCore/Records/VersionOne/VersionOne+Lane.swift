import BridgeModel

extension VersionOne.Lane {
    var newest: StoredLane {
        var stored = StoredLane(
            turn: address.turn, session: address.session, interaction: address.interaction, epoch: epoch)
        stored.message = message
        stored.deltas = deltas
        stored.streamed = streamed
        stored.unanswered = unanswered.map {
            StoredLane.Unanswered(name: $0.name.newest, key: $0.key, form: $0.form)
        }
        stored.ended = ended
        stored.waiting = waiting.map {
            StoredLane.Waiting(
                post: $0.post.newest, since: $0.since, withoutInteraction: $0.withoutInteraction, form: $0.form)
        }
        stored.bubbleIsLost = bubbleIsLost
        stored.previewIsOver = previewIsOver
        stored.windowIsOpen = windowIsOpen
        stored.isAbandoned = isAbandoned
        stored.isClosing = isClosing
        return stored
    }
}

extension VersionOne.PostName {
    package var newest: StoredPostName {
        switch self {
        case .open: StoredPostName(kind: .open)
        case .text(let end): StoredPostName(kind: .text, number: end)
        case .taskStarted(let task): StoredPostName(kind: .taskStarted, task: task)
        case .taskProgress(let task): StoredPostName(kind: .taskProgress, task: task)
        case .taskEnded(let task): StoredPostName(kind: .taskEnded, task: task)
        case .approval(let approval): StoredPostName(kind: .approval, approval: approval)
        case .end: StoredPostName(kind: .end)
        case .message(let part): part.newest
        }
    }
}

extension VersionOne.PostName.Part {
    fileprivate var newest: StoredPostName {
        switch self {
        case .more(let number): StoredPostName(kind: .more, number: number)
        case .late: StoredPostName(kind: .late)
        case .line(let number): StoredPostName(kind: .line, number: number)
        }
    }
}

extension VersionOne.Post {
    fileprivate var newest: StoredPost {
        switch self {
        case .open: StoredPost(name: StoredPostName(kind: .open))
        case .text(let text): StoredPost(name: StoredPostName(kind: .text, number: 0), text: text)
        case .taskStarted(let start):
            StoredPost(
                name: StoredPostName(kind: .taskStarted, task: start.task),
                task: StoredTask(name: start.kind, label: start.label, arguments: start.arguments?.text))
        case .taskProgress(let progress):
            StoredPost(
                name: StoredPostName(kind: .taskProgress, task: progress.task),
                task: StoredTask(
                    label: progress.label, percent: progress.percent, result: progress.partialResult?.text))
        case .taskEnded(let end):
            StoredPost(
                name: StoredPostName(kind: .taskEnded, task: end.task),
                task: StoredTask(
                    name: end.name, label: end.label, status: end.status.newest, error: end.error,
                    result: end.result?.text))
        case .approval(let card):
            StoredPost(name: StoredPostName(kind: .approval, approval: card.approval), card: card.newest)
        case .end(let end): StoredPost(name: StoredPostName(kind: .end), end: end.newest)
        case .message(let message):
            StoredPost(name: message.part.newest, text: message.text, usage: message.usage?.newest)
        }
    }
}

extension VersionOne.Status {
    var newest: StoredToolStatus {
        switch self {
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }
}

extension VersionOne.Card {
    var newest: StoredCard {
        StoredCard(
            action: action, title: title, message: message, severity: severity.newest, command: command, host: host,
            slug: slug, toolCall: toolCall)
    }
}

extension VersionOne.Card.Severity {
    fileprivate var newest: StoredSeverity {
        switch self {
        case .low: .low
        case .medium: .medium
        case .high: .high
        case .critical: .critical
        }
    }
}

extension VersionOne.End {
    var newest: StoredEnd {
        StoredEnd(text: text, usage: usage?.newest, finishReason: finishReason?.newest, form: form)
    }
}

extension VersionOne.End.FinishReason {
    fileprivate var newest: StoredFinishReason {
        switch self {
        case .stop: .stop
        case .length: .length
        case .content_filter: .contentFilter
        case .tool_call: .toolCall
        }
    }
}

extension VersionOne.Usage {
    var newest: StoredUsage {
        StoredUsage(
            inputTokens: inputTokens, outputTokens: outputTokens, estimatedCostUSD: estimatedCostUSD, model: model,
            provider: provider)
    }
}
