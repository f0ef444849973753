import Locking
import OSThreads
package import Vocabulary

/// Fetches the attachments of one connection's messages into the spool, with up to `FetchSettings.workerLimit` workers.
/// Messages take turns: after each file its message goes to the back of the queue, so that a few slow servers do not
/// hold up every other message.
///
/// - A dropped turn gets no answer, except one already on its way, which the caller ignores. None of its files stays on
///   the disk, whichever step the worker is in.
/// - Every other turn is answered exactly once, within its timeout; attachments not fetched by then are reported as
///   missing. Time in the queue counts against a limit of its own.
package final class AttachmentFetcher: AttachmentPort {
    private struct Job {
        let number: Int
        let turn: TurnID
        let attachments: [Attachment]
        let completion: @Sendable ([Attachment]) -> Void
        /// Deadline of the job's first try.
        let waitEnd: Deadline
        var done: [Attachment] = []
        var course: Course?

        struct Course {
            let settings: FetchSettings
            /// Time left for the job's own tries, without the time in the queue.
            var timeLeft: Duration
            /// Deadline that includes the time in the queue between tries.
            let end: Deadline
            /// Bytes left for the remaining files of the message.
            var left: Int

            init(_ settings: FetchSettings) {
                self.settings = settings
                timeLeft = settings.messageTimeLimit
                end = Deadline(after: settings.messageTimeLimit + settings.waitLimit)
                left = settings.messageLimit
            }

            func isOver(at now: Deadline) -> Bool { timeLeft <= .zero || end.hasPassed(at: now) }
        }

        func isLate(at now: Deadline) -> Bool {
            course?.isOver(at: now) ?? waitEnd.hasPassed(at: now)
        }

        /// The job's result, with every attachment not yet tried reported as missing.
        func given(up problem: FetchProblem) -> [Attachment] {
            done + attachments.dropFirst(done.count).map { $0.missing(problem) }
        }
    }

    private struct State {
        var waiting: [Job] = []
        var workers = 0
        var lastNumber = 0
        /// Number of the current job of each turn. A job with another number was dropped.
        var numbers: [TurnID: Int] = [:]
        var files: [TurnID: [SpooledFile]] = [:]
        var isStopped = false
    }

    private let spool: FileSpool
    private let share: Int
    private let beside: @Sendable (@escaping @Sendable () -> Void) -> Bool
    private let inForce: Locked<FetchSettings>
    private var settings: FetchSettings { inForce.withLock { $0 } }
    private let state = Locked(State())

    /// `beside` runs a deletion on another thread, because the caller must not wait for a slow disk. False if it
    /// cannot; the caller then deletes by itself.
    package init(
        into spool: FileSpool, _ settings: FetchSettings,
        beside: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool = { startThread($0) }
    ) {
        self.spool = spool
        share = spool.openShare()
        self.beside = beside
        inForce = Locked(settings)
    }

    /// Applies new limits to every message whose first file was not begun.
    package func use(fileLimit: Int, timeLimit: Duration) {
        inForce.withLock { ($0.fileLimit, $0.timeLimit) = (fileLimit, timeLimit) }
    }

    deinit { stop() }

    package func fetch(
        _ attachments: [Attachment], for turn: TurnID, completion: @escaping @Sendable ([Attachment]) -> Void
    ) {
        let waitEnd = Deadline(after: settings.waitLimit)
        let startsWorker = state.withLock { state in
            guard !state.isStopped else { return false }
            state.lastNumber += 1
            state.numbers[turn] = state.lastNumber
            state.waiting.append(
                Job(
                    number: state.lastNumber, turn: turn, attachments: attachments, completion: completion,
                    waitEnd: waitEnd))
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

    /// Cancels every job and deletes every file.
    package func stop() {
        let files = state.withLock { state in
            (state.numbers, state.waiting, state.isStopped) = ([:], [], true)
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
        while let job = next() {
            var job = job
            tryNext(&job)
            if job.done.count == job.attachments.count {
                finish(job, job.done)
            } else {
                state.withLock { if $0.numbers[job.turn] == job.number { $0.waiting.append(job) } }
            }
        }
    }

    /// Takes the next job. Jobs whose deadline has passed are answered on the way.
    private func next() -> Job? {
        while true {
            let now = Deadline.now
            let (job, isLate) = state.withLock { state -> (Job?, Bool) in
                if let index = state.waiting.firstIndex(where: { $0.isLate(at: now) }) {
                    return (state.waiting.remove(at: index), true)
                }
                if !state.waiting.isEmpty { return (state.waiting.removeFirst(), false) }
                state.workers -= 1
                return (nil, false)
            }
            guard let job, isLate else { return job }
            finish(job, job.given(up: job.course == nil ? .notBegun : .noTimeLeft))
        }
    }

    private func isWanted(_ job: Job) -> Bool { state.withLock { $0.numbers[job.turn] == job.number } }

    private func finish(_ job: Job, _ attachments: [Attachment]) {
        if isWanted(job) { job.completion(attachments) }
    }

    private func refuseAll() {
        let jobs = state.withLock { state in
            state.workers -= 1
            // The remaining workers take the queued jobs.
            guard state.workers == 0 else { return [Job]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in jobs { finish(job, job.given(up: .noThread)) }
    }

    private func tryNext(_ job: inout Job) {
        guard job.done.count < job.attachments.count else { return }
        var course = job.course ?? Job.Course(settings)
        let attachment = job.attachments[job.done.count]
        let time = min(course.timeLeft, .milliseconds(Int64(course.end.millisecondsLeft)))
        let end = Deadline(after: time)
        do throws(FetchProblem) {
            guard job.done.count < FetchSettings.countLimit else { throw .tooMany }
            let file = try fetch(attachment, for: job, course.settings, until: end, atMost: course.left)
            course.left -= file.size
            job.done.append(attachment.fetched(file))
        } catch {
            job.done.append(attachment.missing(error))
        }
        course.timeLeft -= time - .milliseconds(Int64(end.millisecondsLeft))
        job.course = course
    }

    // MARK: One file

    private func fetch(
        _ attachment: Attachment, for job: Job, _ settings: FetchSettings, until end: Deadline, atMost left: Int
    ) throws(FetchProblem) -> MessageFile {
        guard let url = attachment.url else { throw .noAddress }
        let file = try spool.make(in: share)
        // Registered before its first byte, so that `drop` finds and deletes the file.
        let isTaken = state.withLock { state in
            guard state.numbers[job.turn] == job.number else { return false }
            state.files[job.turn, default: []].append(file)
            return true
        }
        guard isTaken else { throw .cancelled }
        do throws(FetchProblem) {
            let type = try load(
                url, said: attachment.mimeType, name: attachment.plainName, into: file, for: job, settings, until: end,
                atMost: left)
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
        _ url: String, said: String?, name: String, into file: SpooledFile, for job: Job, _ settings: FetchSettings,
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
                return try KindOfFile(said: said, served: served, name: name, bytes: download.prefix).mimeType()
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
