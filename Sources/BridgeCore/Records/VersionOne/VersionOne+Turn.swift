import BridgeModel

// What version 1 says, in the newest form.

extension VersionOne.Record {
    package var newest: StoredTurn {
        var stored = StoredTurn(
            opening: turn.opening.newest, lane: lane.newest, phase: turn.phase.newest,
            preview: StoredPreview(limit: turn.preview.limit, state: turn.preview.state.newest))
        stored.renamed = renamed.isEmpty ? nil : renamed.map { [$0.key, $0.value] }
        stored.text = StoredText(
            base: turn.text.base, ended: turn.text.ended, hasGap: turn.text.hasGap,
            isIncomplete: turn.text.isIncomplete, isTorn: turn.text.isTorn)
        stored.tools = turn.tools.newest
        stored.approvals = turn.approvals.newest
        stored.runs = turn.runs
        stored.endedRuns = turn.endedRuns
        stored.closingLines = turn.closingLines
        stored.usage = turn.usage?.newest
        stored.usageOfEarlierRuns = turn.usageOfEarlierRuns?.newest
        stored.heldAtWindowClose = turn.heldAtWindowClose
        stored.bubbleIsOver = turn.bubbleIsOver
        stored.retrying = turn.retrying
        stored.stopping = turn.stopping
        stored.agentAway = turn.agentAway
        stored.agentIsFree = turn.agentIsFree
        stored.unconfirmed = turn.unconfirmed.map(\.newest)
        stored.sentEnd = turn.sentEnd?.newest
        stored.names = StoredNames(usedLate: turn.names.usedLate, more: turn.names.more, lines: turn.names.lines)
        stored.deadlines = StoredDeadlines(
            window: turn.deadlines.window, agent: turn.deadlines.agent, stop: turn.deadlines.stop,
            followUp: turn.deadlines.followUp, retry: turn.deadlines.retry, look: turn.deadlines.look,
            ask: turn.deadlines.ask, abandon: turn.deadlines.abandon)
        return stored
    }
}

extension VersionOne.Opening {
    package var newest: StoredOpening {
        StoredOpening(
            id: id, session: session, interaction: interaction, agentSession: agentSession, run: run,
            message: message?.newest, receivedAt: receivedAt, windowEnds: windowEnds)
    }
}

extension VersionOne.Message {
    fileprivate var newest: StoredMessage {
        StoredMessage(
            id: id, session: session, interaction: interaction, text: text,
            attachments: attachments.map {
                StoredAttachment(url: $0.url, key: $0.key, mimeType: $0.mimeType, name: $0.name)
            }, model: model, thoughtLevel: thoughtLevel)
    }
}

extension VersionOne.Turn.Phase {
    fileprivate var newest: StoredPhase {
        switch self {
        case .waiting: StoredPhase(name: .waiting)
        case .handedOver: StoredPhase(name: .handedOver)
        case .running: StoredPhase(name: .running)
        case .holding: StoredPhase(name: .holding)
        case .asking: StoredPhase(name: .asking)
        case .searching(let since): StoredPhase(name: .searching, since: since)
        case .over(let outcome): StoredPhase(name: .over, outcome: outcome.newest)
        case .closed(let outcome): StoredPhase(name: .closed, outcome: outcome.newest)
        }
    }
}

extension VersionOne.Turn.Outcome {
    fileprivate var newest: StoredOutcome {
        switch self {
        case .answered: .answered
        case .aborted: .aborted
        case .failed: .failed
        case .lost: .lost
        case .neverSent: .neverSent
        case .gone: .gone
        }
    }
}

extension VersionOne.Turn.Preview.State {
    fileprivate var newest: StoredPreview.State {
        switch self {
        case .inStep: .inStep
        case .ahead: .ahead
        case .apart: .apart
        case .over: .over
        }
    }
}

extension VersionOne.Tools {
    fileprivate var newest: StoredTools {
        StoredTools(
            open: open.compactMap { id in calls[id].map { $0.newest(id) } },
            finished: calls.filter { $0.value.finished }.keys.sorted())
    }
}

extension VersionOne.Tools.Call {
    fileprivate func newest(_ id: ToolCallID) -> StoredTools.Call {
        StoredTools.Call(
            id: id, task: task, name: name, label: label, shownLabel: shownLabel,
            outputChannel: outputChannel.map(VersionOne.channel), percent: percent, commandOpen: commandOpen,
            approval: approval, held: held?.newest)
    }
}

extension VersionOne.Tools.Result {
    fileprivate var newest: StoredToolResult {
        StoredToolResult(
            call: call, channel: VersionOne.channel(channel), name: name, status: status.newest, title: title,
            result: result?.text, error: error)
    }
}

extension VersionOne {
    fileprivate static func channel(_ number: Int) -> StoredChannel {
        switch number {
        case 0: .call
        case 1: .command
        default: .item
        }
    }
}

extension VersionOne.Approvals {
    fileprivate var newest: StoredApprovals {
        StoredApprovals(
            asked: order.compactMap { id in approvals[id].map { $0.newest(id) } }, detachedEarly: detachedEarly)
    }
}

extension VersionOne.Approvals.Approval {
    fileprivate func newest(_ id: ApprovalID) -> StoredApprovals.Approval {
        var stored = StoredApprovals.Approval(id: id, subject: subject.newest, state: .settled)
        switch state {
        case .open: stored.state = .open
        case .decided(let decision): (stored.state, stored.decision) = (.decided, decision.newest)
        case .settled: break
        }
        stored.card = card.newest
        stored.expiresAt = expiresAt
        stored.allowed = allowed?.map(\.newest)
        stored.detached = detached
        stored.followUpBegan = followUpBegan
        stored.owed = owed
        stored.decidedByPerson = decidedByPerson
        return stored
    }
}

extension VersionOne.Approvals.Decision {
    fileprivate var newest: StoredDecision {
        switch self {
        case .approve: .approve
        case .approve_always: .approveAlways
        case .deny: .deny
        }
    }
}

extension VersionOne.Approvals.Subject {
    fileprivate var newest: StoredSubject {
        switch self {
        case .exec: .exec
        case .plugin: .plugin
        case .permission: .permission
        case .dialog: .dialog
        }
    }
}
