import BridgeService
import Testing
import Vocabulary

@Suite("Announcements of files on their way")
struct FileAnnouncementsTests {
    private static func file(_ path: String, size: Int = 1, in session: String = "s") -> FileAnnouncement {
        FileAnnouncement(
            session: SessionID(session), sealing: .open, use: .read,
            file: SeenFile(path: path, size: size, mimeType: "text/plain"))
    }

    private static func second(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1_000)) }

    @Test("one call at a time, and five a second")
    func pace() {
        var queue = FileAnnouncements()
        for path in ["/a", "/b"] { queue.add(Self.file(path)) }
        #expect(queue.next(at: .zero)?.file.path == "/a")
        #expect(queue.next(at: Self.second(9)) == nil && queue.nextDeadline == nil)
        queue.answered(.done, at: Self.second(9))
        #expect(queue.nextDeadline == Self.second(9.2) && queue.next(at: Self.second(9.1)) == nil)
        #expect(queue.next(at: Self.second(9.2))?.file.path == "/b")
        queue.answered(.done, at: Self.second(10))
        #expect(queue.nextDeadline == nil)
    }

    @Test("a file that waits is announced once, as it is then")
    func merged() {
        var queue = FileAnnouncements()
        queue.add(Self.file("/a", size: 1))
        queue.add(Self.file("/a", size: 1, in: "t"))
        queue.add(Self.file("/a", size: 2))
        #expect(queue.next(at: .zero) == Self.file("/a", size: 2))
        queue.add(Self.file("/a", size: 3))
        queue.answered(.done, at: .zero)
        #expect(queue.next(at: Self.second(1)) == Self.file("/a", size: 1, in: "t"))
        queue.answered(.done, at: Self.second(1))
        #expect(queue.next(at: Self.second(2)) == Self.file("/a", size: 3))
    }

    @Test("a rate limit is waited for")
    func again() {
        var queue = FileAnnouncements()
        queue.add(Self.file("/a"))
        _ = queue.next(at: .zero)
        queue.answered(.wait(.seconds(7)), at: .zero)
        #expect(queue.next(at: Self.second(6)) == nil && queue.next(at: Self.second(7)) != nil)
        queue.answered(.refused(.rateLimited), at: Self.second(7))
        #expect(queue.nextDeadline == nil)
    }

    @Test("an outage of minutes loses none, and the relay is asked no faster than once a minute then")
    func outage() {
        var queue = FileAnnouncements()
        for number in 0..<30 { queue.add(Self.file("/\(number)")) }
        var (now, tries) = (Instant.zero, 0)
        while now < Self.second(300) {
            #expect(queue.next(at: now) != nil)
            queue.answered(.unknown, at: now)
            tries += 1
            now = queue.nextDeadline ?? Self.second(300)
        }
        #expect(tries < 12)
        var announced: Set<String> = []
        while let due = queue.nextDeadline, let next = queue.next(at: due) {
            announced.insert(next.file.path)
            queue.answered(.done, at: due)
        }
        #expect(announced.count == 30)
    }

    @Test("the pauses behind unknown outcomes")
    func pauses() {
        var queue = FileAnnouncements()
        for number in 0..<10 { queue.add(Self.file("/\(number)")) }
        func pause() -> Duration? {
            guard let due = queue.nextDeadline, queue.next(at: due) != nil else { return nil }
            queue.answered(.unknown, at: due)
            return queue.nextDeadline.map { $0 - due }
        }
        #expect((0..<7).map { _ in pause() } == [2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        if let due = queue.nextDeadline { _ = queue.next(at: due) }
        queue.answered(.done, at: .zero)
        #expect(pause() == .seconds(2))
    }

    @Test("one that the relay cannot take holds up no other, and is given up after ten minutes")
    func stuck() {
        var queue = FileAnnouncements()
        for path in ["/bad", "/good"] { queue.add(Self.file(path)) }
        var (said, last): ([String], Instant) = ([], .zero)
        while let due = queue.nextDeadline, let next = queue.next(at: due) {
            said.append(next.file.path)
            last = due
            queue.answered(next.file.path == "/bad" ? .unknown : .done, at: due)
        }
        #expect(said.prefix(3) == ["/bad", "/good", "/bad"] && said.filter { $0 == "/good" }.count == 1)
        #expect(last > Self.second(500) && last < Self.second(700))
    }

    @Test("of a chat that has ended nothing is announced")
    func ended() {
        var queue = FileAnnouncements()
        queue.add(Self.file("/a"))
        queue.add(Self.file("/b", in: "t"))
        queue.forget(SessionID("s"))
        #expect(queue.next(at: .zero) == Self.file("/b", in: "t"))
    }

    @Test(
        "the announcement under way when its chat ends is not tried again",
        arguments: [FileAnnouncements.Outcome.unknown, .wait(.seconds(7))])
    func endedUnderWay(outcome: FileAnnouncements.Outcome) {
        var queue = FileAnnouncements()
        queue.add(Self.file("/a"))
        _ = queue.next(at: .zero)
        queue.forget(SessionID("s"))
        queue.answered(outcome, at: .zero)
        #expect(queue.nextDeadline == nil)
        queue.add(Self.file("/b", in: "t"))
        #expect(queue.next(at: Self.second(7)) == Self.file("/b", in: "t"))
    }

    @Test("is bounded")
    func bounded() {
        var queue = FileAnnouncements()
        for number in 0..<1_000 { queue.add(Self.file("/\(number)")) }
        var count = 0
        while queue.next(at: Self.second(Double(count))) != nil {
            queue.answered(.done, at: Self.second(Double(count)))
            count += 1
        }
        #expect(count == FileAnnouncements.limit)
    }

    @Test("what was announced is held for its chat, sealed or in the open, and bounded")
    func held() {
        var book = AnnouncedFiles()
        let (one, two) = (SessionID("1"), SessionID("2"))
        _ = book.add("/a", in: one, isSealed: false)
        _ = book.add("/b", in: two, isSealed: true)
        #expect(book.holds("/a", in: nil) && !book.holds("/b", in: nil))
        #expect(book.holds("/b", in: two) && !book.holds("/a", in: two) && !book.holds("/a", in: one))
        for number in 0..<AnnouncedFiles.fileLimit { _ = book.add("/\(number)", in: one, isSealed: false) }
        #expect(!book.holds("/a", in: nil) && book.holds("/0", in: nil))
        var forgotten: [SessionID] = []
        for number in 0..<AnnouncedFiles.chatLimit {
            forgotten += book.add("/c", in: SessionID("c\(number)"), isSealed: false).others
        }
        #expect(forgotten == [two, one] && !book.holds("/0", in: nil))
        _ = book.forget(SessionID("c5"))
        #expect(!book.holds("/c", in: SessionID("c5")))
    }

    @Test("a file is had as it was announced, however its chat is sealed later")
    func both() {
        for firstSealed in [true, false] {
            var book = AnnouncedFiles()
            let session = SessionID("1")
            _ = book.add("/a", in: session, isSealed: firstSealed)
            _ = book.add("/b", in: session, isSealed: !firstSealed)
            #expect(book.holds("/a", in: nil) == !firstSealed && book.holds("/a", in: session) == firstSealed)
            #expect(book.holds("/b", in: nil) == firstSealed && book.holds("/b", in: session) == !firstSealed)
            #expect(book.record(of: session)?.isSealed == true)
        }
    }

    @Test("a file that a sealed chat touches is had in the open no more, whatever is forgotten of it later")
    func closed() {
        var book = AnnouncedFiles()
        let (one, two) = (SessionID("1"), SessionID("2"))
        _ = book.add("/a", in: one, isSealed: false)
        #expect(book.add("/a", in: two, isSealed: true).others == [one])
        #expect(!book.holds("/a", in: nil) && book.holds("/a", in: two))
        _ = book.add("/a", in: one, isSealed: false)
        #expect(!book.holds("/a", in: nil), "the words may be in it still")
        _ = book.add("/b", in: one, isSealed: false)
        #expect(book.add("/b", in: one, isSealed: true).others.isEmpty, "its own record is written anyway")
        #expect(!book.holds("/b", in: nil))
    }

    @Test("a record says the same to the next process, and which chat is the oldest")
    func record() throws {
        var book = AnnouncedFiles()
        let session = SessionID("1")
        for path in ["/a b\nc", "/é"] { _ = book.add(path, in: session, isSealed: true, wall: 1_000_000) }
        _ = book.add("/open", in: session, isSealed: false, wall: 1_000_000)
        var records = [session: try #require(book.record(of: session))]
        for number in 1..<AnnouncedFiles.chatLimit {
            let other = SessionID("\(1_000 + number)")
            _ = book.add("/\(number)", in: other, isSealed: false, wall: Int64(number))
            records[other] = book.record(of: other)
        }
        var next = AnnouncedFiles()
        next.restore(records)
        #expect(next.holds("/a b\nc", in: session) && next.holds("/é", in: session) && !next.holds("/é", in: nil))
        #expect(next.holds("/open", in: nil) && !next.holds("/open", in: session))
        #expect(next.add("/new", in: SessionID("2"), isSealed: false).others == [SessionID("1001")])
        next.restore([SessionID("bad"): AnnouncedFiles.Record(text: [0xFF, 0, 0x78], isSealed: false)])
        #expect(next.holds("/new", in: nil))
    }
}
