package import Vocabulary

// Messages with files: the agent gets the message once each file was fetched, or could not be.
extension Turn {
    /// The message lacks its key or its files, and later messages of its chat wait for it.
    var isIncomplete: Bool { phase == .awaitingKey || phase == .fetching }

    /// Files of the message are on the disk, or may be. The agent may ask for them until it has taken the message.
    var holdsFiles: Bool {
        switch phase {
        case .fetching: true
        case .awaitingKey, .answering, .over, .closed: false
        case .waiting, .handedOver, .running, .holding, .asking, .searching:
            opening.message?.attachments.contains(where: \.isOnDisk) == true
        }
    }

    mutating func fetch(at now: Instant) -> [TurnOrder] {
        guard let attachments = opening.message?.attachments else { return [] }
        phase = .fetching
        deadlines.agent = nil
        if let refusal = settings.files.refusal(isSealed: opening.sealing.isSealed) {
            return fetched(
                attachments.map { Attachment($0, outcome: .missing(.notFetched($0.plainName, refusal))) }, at: now)
        }
        deadlines.fetch = now + settings.fetchPatience
        return [.fetch(attachments)]
    }

    /// Fetches again after a restart: files do not outlive the process that fetched them.
    mutating func forgetFiles() {
        guard phase == .waiting, opening.message?.attachments.isEmpty == false else { return }
        phase = .fetching
        deadlines.agent = nil
    }

    package mutating func fetchAgain(at now: Instant) -> [TurnOrder] {
        phase == .fetching ? fetch(at: now) : []
    }

    package mutating func fetched(_ attachments: [Attachment], at now: Instant) -> [TurnOrder] {
        guard phase == .fetching, attachments.count == opening.message?.attachments.count else { return [] }
        opening.message?.attachments = attachments.map(\.settled)
        deadlines.fetch = nil
        phase = .waiting
        if agent.isAway { deadlines.agent = now + settings.agentPatience }
        return []
    }

    /// The files take too long, and the message goes without them.
    mutating func fetchIsLate(at now: Instant) -> [TurnOrder] {
        fetched(opening.message?.attachments ?? [], at: now)
    }

    /// The agent has taken the message and needs its files no longer.
    mutating func filesArrived() {
        guard occupiesAgent || outcome != nil, let attachments = opening.message?.attachments, !attachments.isEmpty
        else {
            return
        }
        opening.message?.attachments = attachments.map { Attachment($0, outcome: nil) }
    }

    package mutating func filesLeftOut(_ files: [MissingFile]) -> [TurnOrder] {
        if outcome == nil { bubble.add(notice: Sentences.missing(files)) }
        return []
    }
}

extension Attachment {
    fileprivate init(_ attachment: Attachment, outcome: AttachmentOutcome?) {
        self = attachment
        self.outcome = outcome
    }

    fileprivate var isOnDisk: Bool { if case .file = outcome { true } else { false } }

    fileprivate var settled: Attachment {
        outcome == nil
            ? Attachment(self, outcome: .missing(.notFetched(plainName, "it took too long"))) : self
    }
}
