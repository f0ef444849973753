import Dispatch
import Locking

/// One stream of bytes for many readers: it keeps the bytes once, and every reader has only its place in them.
///
/// A slow reader falls behind, up to `limit` bytes. Then the feed cuts it instead of delaying the producer, because a
/// reader of events can come back. So all readers together hold `limit` bytes and a block, in any number. The feed
/// forgets bytes that all readers have taken, and keeps none without readers.
///
/// Waking a reader costs some system calls, more than its bytes do. The first bytes after a pause leave at once; during
/// a stream of bytes the feed wakes the readers every `pauseMilliseconds` for all of them.
package final class EventFeed: Sendable {
    /// Bytes of one block of the log: a reader that is behind receives them in one write.
    private static let blockSize = 65_536

    fileprivate struct Block {
        var start: UInt64
        var bytes: [UInt8]
        var end: UInt64 { start + UInt64(bytes.count) }
    }

    /// A reader: *open* until it is cut or its request has completed.
    fileprivate struct Reader {
        var place: UInt64
        /// Bytes for this reader alone, before the feed.
        var backlog: [[UInt8]]
        var backlogIndex = 0
        var backlogOffset = 0
        var isCut = false
        var latch = ConnectionLatch()
    }

    fileprivate struct State {
        var blocks: [Block] = []
        var end: UInt64 = 0
        var readers: [Int: Reader] = [:]
        var lastNumber = 0
        var lastWake = DispatchTime(uptimeNanoseconds: 0)
        var isWakePlanned = false
    }

    private let limit: Int
    private let pauseMilliseconds: Int
    fileprivate let state = Locked(State())
    private let queue = DispatchQueue(label: "event-feed")

    package init(limit: Int, pauseMilliseconds: Int = 20) {
        precondition(limit > 0)
        self.limit = limit
        self.pauseMilliseconds = pauseMilliseconds
    }

    /// Number of readers that were not cut and have not gone.
    package var readerCount: Int { state.withLock { state in state.readers.values.count { !$0.isCut } } }

    package var isRead: Bool { state.withLock { !$0.readers.isEmpty } }

    /// Bytes kept because a reader has not taken them.
    package var keptBytes: Int { state.withLock { $0.keptBytes } }

    /// Opens a reader that receives `backlog` first, and then all bytes appended from now on.
    package func open(backlog: [[UInt8]] = [], whenEnded: @escaping @Sendable () -> Void = {}) -> FeedReader {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.readers[state.lastNumber] = Reader(place: state.end, backlog: backlog)
            return state.lastNumber
        }
        return FeedReader(feed: self, number: number, whenEnded: whenEnded)
    }

    package func append(_ bytes: [UInt8]) {
        let waits = state.withLock { state -> Int? in
            guard !state.readers.isEmpty else {
                state.end += UInt64(bytes.count)
                return nil
            }
            state.append(bytes, blockSize: Self.blockSize)
            state.keepWithin(limit)
            guard !state.isWakePlanned else { return nil }
            let pause = DispatchTimeInterval.milliseconds(pauseMilliseconds)
            let now = DispatchTime.now()
            guard now < state.lastWake + pause else {
                state.wakeAll(at: now)
                return nil
            }
            state.isWakePlanned = true
            let since = now.uptimeNanoseconds - state.lastWake.uptimeNanoseconds
            return pauseMilliseconds - Int(since / 1_000_000)
        }
        guard let waits else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(waits)) { [weak self] in self?.wake() }
    }

    /// Ends all readers in the middle of their bodies.
    package func cutAll() {
        state.withLock { state in
            for number in Array(state.readers.keys) { state.cut(number) }
        }
    }

    private func wake() {
        state.withLock { state in
            state.isWakePlanned = false
            state.wakeAll(at: .now())
            state.forgetTaken()
        }
    }
}

extension EventFeed.State {
    var keptBytes: Int { blocks.first.map { Int(end - $0.start) } ?? 0 }

    mutating func append(_ bytes: [UInt8], blockSize: Int) {
        if let last = blocks.indices.last, blocks[last].bytes.count + bytes.count <= blockSize {
            blocks[last].bytes.append(contentsOf: bytes)
        } else {
            var block = EventFeed.Block(start: end, bytes: [])
            block.bytes.append(contentsOf: bytes)
            forgetTaken()
            blocks.append(block)
        }
        end += UInt64(bytes.count)
    }

    /// Drops the oldest blocks at the bound, and cuts the readers that still need them.
    mutating func keepWithin(_ limit: Int) {
        while keptBytes > limit, blocks.count > 1 {
            let start = blocks.removeFirst().end
            for (number, reader) in readers where reader.place < start && !reader.isCut { cut(number) }
        }
    }

    /// Forgets bytes that all readers have taken.
    mutating func forgetTaken() {
        let slowest = readers.values.lazy.filter { !$0.isCut }.map(\.place).min() ?? end
        let count = blocks.prefix { $0.end <= slowest }.count
        guard count > 0 else { return }
        blocks.removeFirst(min(count, blocks.count))
    }

    mutating func wakeAll(at now: DispatchTime) {
        lastWake = now
        // Loop in place: a loop over the keys would hold the dictionary, and the first change would copy it.
        var index = readers.startIndex
        while index != readers.endIndex {
            readers.values[index].latch.resume()
            readers.formIndex(after: &index)
        }
    }

    mutating func cut(_ number: Int) {
        guard readers[number]?.isCut == false else { return }
        readers[number]?.isCut = true
        readers[number]?.backlog = []
        readers[number]?.latch.resume()
        // A reader that does not read blocks writes to its connection: without this its loss would go unnoticed.
        readers[number]?.latch.hangUp()
    }

    /// Copies the feed's bytes from `place` on into the buffer.
    func copy(from place: inout UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard place < end, var index = index(of: place) else { return 0 }
        var count = 0
        while index < blocks.count, count < buffer.count {
            let offset = Int(place - blocks[index].start)
            let size = min(blocks[index].bytes.count - offset, buffer.count - count)
            blocks[index].bytes.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + size]))
            }
            count += size
            place += UInt64(size)
            index += 1
        }
        return count
    }

    /// The block that holds a place: nearly always the last.
    private func index(of place: UInt64) -> Int? {
        var low = 0
        var high = blocks.count
        if let last = blocks.last, last.start <= place { return high - 1 }
        while low < high {
            let middle = (low + high) / 2
            if blocks[middle].end <= place { low = middle + 1 } else { high = middle }
        }
        return low < blocks.count ? low : nil
    }
}

/// One reader's body of a feed.
package final class FeedReader: StreamSource {
    private let feed: EventFeed
    private let number: Int
    private let whenEnded: @Sendable () -> Void

    init(feed: EventFeed, number: Int, whenEnded: @escaping @Sendable () -> Void) {
        self.feed = feed
        self.number = number
        self.whenEnded = whenEnded
    }

    // MARK: - On the library's thread

    func attach(_ connection: Connection) {
        feed.state.withLock { $0.readers[number]?.latch.attach(connection) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        feed.state.withLock { state in
            guard var reader = state.readers[number], !reader.isCut else { return streamEndsBroken }
            var count = reader.takeBacklog(into: buffer)
            if count < buffer.count {
                count += state.copy(
                    from: &reader.place, into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
            }
            if count == 0 { reader.latch.suspend() }
            state.readers[number] = reader
            return count
        }
    }

    func requestCompleted() {
        let isNew = feed.state.withLock { state in
            state.readers[number]?.latch.detach()
            let wasThere = state.readers.removeValue(forKey: number) != nil
            if state.readers.isEmpty { state.blocks = [] }
            return wasThere
        }
        if isNew { whenEnded() }
    }

    func serverStops() { feed.state.withLock { $0.cut(number) } }
}

extension EventFeed.Reader {
    mutating func takeBacklog(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard backlogIndex < backlog.count else { return 0 }
        var count = 0
        while backlogIndex < backlog.count, count < buffer.count {
            let size = min(backlog[backlogIndex].count - backlogOffset, buffer.count - count)
            backlog[backlogIndex].withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[backlogOffset..<backlogOffset + size]))
            }
            count += size
            backlogOffset += size
            if backlogOffset == backlog[backlogIndex].count {
                backlogIndex += 1
                backlogOffset = 0
            }
        }
        if backlogIndex == backlog.count { backlog = [] }
        return count
    }
}
