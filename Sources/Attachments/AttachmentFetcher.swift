package import BridgeModel
import Locking
import Threads

/// Fetches the files of one connection's messages into the spool, the files of a message one after another, at most
/// `FetchSettings.workerLimit` messages at once; the others wait.
///
/// - A turn that was dropped gets no answer, and none of its files stays on the disk, whatever the worker is at.
/// - Every other turn is answered once, within its time: what is not fetched by then says so.
package final class AttachmentFetcher: AttachmentPort {
    private struct Job {
        let number: Int
        let turn: TurnID
        let attachments: [Attachment]
        let completion: @Sendable ([Attachment]) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var workers = 0
        var lastNumber = 0
        /// The job that counts for a turn; another number was dropped.
        var numbers: [TurnID: Int] = [:]
        var files: [TurnID: [SpooledFile]] = [:]
    }

    private let spool: FileSpool
    private let beside: @Sendable (@escaping @Sendable () -> Void) -> Bool
    private let inForce: Locked<FetchSettings>
    private var settings: FetchSettings { inForce.withLock { $0 } }
    private let state = Locked(State())

    /// `beside` deletes beside its caller, which must not wait for a slow disk; false: it cannot.
    package init(
        into spool: FileSpool, _ settings: FetchSettings,
        beside: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool = { startThread($0) }
    ) {
        self.spool = spool
        self.beside = beside
        inForce = Locked(settings)
    }

    /// For the files to come.
    package func use(fileLimit: Int, timeLimit: Duration) {
        inForce.withLock { ($0.fileLimit, $0.timeLimit) = (fileLimit, timeLimit) }
    }

    deinit { stop() }

    package func fetch(
        _ attachments: [Attachment], for turn: TurnID, completion: @escaping @Sendable ([Attachment]) -> Void
    ) {
        let startsWorker = state.withLock { state in
            state.lastNumber += 1
            state.numbers[turn] = state.lastNumber
            state.waiting.append(
                Job(number: state.lastNumber, turn: turn, attachments: attachments, completion: completion))
            guard state.workers < FetchSettings.workerLimit else { return false }
            state.workers += 1
            return true
        }
        if startsWorker, !startThread({ [weak self] in self?.work() }) { refuseAll() }
    }

    package func drop(_ turn: TurnID) {
        let files = state.withLock { state in
            state.numbers[turn] = nil
            state.waiting.removeAll { $0.turn == turn }
            return state.files.removeValue(forKey: turn) ?? []
        }
        delete(files)
    }

    /// Nothing is fetched any more, and nothing stays.
    package func stop() {
        let files = state.withLock { state in
            (state.numbers, state.waiting) = ([:], [])
            defer { state.files = [:] }
            return state.files.values.flatMap(\.self)
        }
        for file in files { file.delete() }
    }

    private func delete(_ files: [SpooledFile]) {
        guard !files.isEmpty else { return }
        if !beside({ for file in files { file.delete() } }) { for file in files { file.delete() } }
    }

    // MARK: Workers

    private func work() {
        while let job = next() { finish(job, fetched(job)) }
    }

    private func next() -> Job? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.workers -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    private func isWanted(_ job: Job) -> Bool { state.withLock { $0.numbers[job.turn] == job.number } }

    private func finish(_ job: Job, _ attachments: [Attachment]) {
        if isWanted(job) { job.completion(attachments) }
    }

    private func refuseAll() {
        let jobs = state.withLock { state in
            state.workers -= 1
            // Another worker takes them.
            guard state.workers == 0 else { return [Job]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in jobs { finish(job, job.attachments.map { $0.missing(.noThread) }) }
    }

    private func fetched(_ job: Job) -> [Attachment] {
        let settings = settings
        let end = Deadline(after: settings.messageTimeLimit)
        var left = settings.messageLimit
        return job.attachments.enumerated().map { index, attachment in
            guard index < FetchSettings.countLimit else { return attachment.missing(.tooMany) }
            do throws(FetchProblem) {
                let file = try fetch(attachment, for: job, settings, until: end, atMost: left)
                left -= file.size
                return attachment.fetched(file)
            } catch {
                return attachment.missing(error)
            }
        }
    }

    // MARK: One file

    private func fetch(
        _ attachment: Attachment, for job: Job, _ settings: FetchSettings, until end: Deadline, atMost left: Int
    ) throws(FetchProblem) -> MessageFile {
        guard let url = attachment.url else { throw .noAddress }
        let file = try spool.make()
        // Known before its first byte is there, so that a drop finds it.
        let isTaken = state.withLock { state in
            guard state.numbers[job.turn] == job.number else { return false }
            state.files[job.turn, default: []].append(file)
            return true
        }
        guard isTaken else { throw .cancelled }
        do throws(FetchProblem) {
            let type = try load(
                url, said: attachment.mimeType, into: file, for: job, settings, until: end, atMost: left)
            return MessageFile(name: attachment.plainName, mimeType: type, path: file.path, size: file.size)
        } catch {
            forget(file, of: job.turn)
            throw error
        }
    }

    private func forget(_ file: SpooledFile, of turn: TurnID) {
        state.withLock { $0.files[turn]?.removeAll { $0 === file } }
        file.delete()
    }

    private func load(
        _ url: String, said: String?, into file: SpooledFile, for job: Job, _ settings: FetchSettings,
        until messageEnd: Deadline, atMost left: Int
    ) throws(FetchProblem) -> String {
        let end = Deadline(after: settings.timeLimit)
        var address = try FetchAddress(url, relay: settings.relay)
        for _ in 0...FetchSettings.redirectLimit {
            let limit: (bytes: Int, passed: FetchProblem) =
                left < settings.fileLimit ? (left, .tooMuch) : (settings.fileLimit, .tooLarge(settings.fileLimit))
            let download = try Download(address, into: file, atMost: limit, settings) { [self] in !isWanted(job) }
            let time = min(end.millisecondsLeft, messageEnd.millisecondsLeft)
            let outcome = try download.run(for: Duration.milliseconds(Int64(time)))
            switch outcome {
            case .redirect(let next):
                let before = address
                address = try FetchAddress(next, relay: settings.relay)
                guard before.scheme != "https" || address.scheme == "https" else { throw .notEncrypted }
            case .whole(let served):
                file.finish()
                guard file.size > 0 else { throw .empty }
                guard let type = PictureKind.mimeType(said: said, served: served, bytes: download.prefix) else {
                    throw .noPicture
                }
                return type
            }
        }
        throw .tooManyRedirects
    }
}

extension Attachment {
    fileprivate func fetched(_ file: MessageFile) -> Attachment {
        var attachment = self
        attachment.outcome = .file(file)
        return attachment
    }

    fileprivate func missing(_ problem: FetchProblem) -> Attachment {
        var attachment = self
        attachment.outcome = .missing(.notFetched(plainName, problem.reason))
        return attachment
    }
}
