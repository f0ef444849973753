import BridgeCore
import Testing
import Vocabulary

@testable import BridgeService

@Suite("Notices in the journal")
struct NoticeRecordTests {
    private static let item = NoticeItem(
        id: "i1", event: .waiting, turn: TurnID("t1"), matter: "ask a", chat: SessionID("c1"),
        words: NoticeWords(workspace: "site", chat: "Fix the tests", wants: "rm -rf build"), isSealed: false, wall: 900)
    private static let sealed = NoticeItem(
        id: "i2", event: .failed, turn: TurnID("t2"), chat: SessionID("c2"), words: nil, isSealed: true, wall: 800)

    private static func settings(_ notices: [Notice], at time: Notices.Time) -> [String: [UInt8]] {
        var settings = ["home:c1": Array("{}".utf8), "notice:odd": Array("{}".utf8), "notice:worse": [1, 2]]
        for notice in notices {
            guard case .setting(let name, let value?) = NoticeRecord.entry(of: notice, at: time) else { continue }
            settings[name] = value
        }
        return settings
    }

    @Test("a notice is read as it was written, the oldest first, on the clock of the next process")
    func roundTrip() {
        let time = Notices.Time(.zero + .seconds(50), wall: 1_000_000)
        let gathered = Notice(
            id: "n1", items: [Self.item, Self.sealed], failures: 2, next: time.instant + .seconds(60))
        let held = Notice(id: "n2", items: [Self.item], isHeld: true)
        let settled = Notice(id: "n3", items: [Self.item], isSettled: true)
        let later = Notices.Time(.zero + .seconds(7), wall: 1_020_000)
        let read = NoticeRecord.restored(Self.settings([settled, held, gathered], at: time), at: later)
        var expected = gathered
        expected.next = later.instant + .seconds(40)
        #expect(read == [expected, held, settled])
    }

    @Test("a clock that was set puts a try off by the longest pause at most")
    func clock() {
        let time = Notices.Time(.zero, wall: 9_000_000)
        let notice = Notice(id: "n1", items: [Self.item], failures: 1, next: time.instant + .seconds(60))
        let settings = Self.settings([notice], at: time)
        for (wall, wait) in [(Int64(1), Duration.seconds(600)), (.max, .zero), (9_030_000, .seconds(30))] {
            let read = NoticeRecord.restored(settings, at: Notices.Time(.zero, wall: wall))
            #expect(read.map(\.next) == [Instant.zero + wait])
        }
    }

    @Test("what a later program wrote is left to it")
    func later() {
        let text = #"{"version":2,"items":[],"failures":0,"held":false,"settled":false}"#
        let event = #"{"id":"a","event":"sung","turn":"t","chat":"c","sealed":true,"wall":1,"has_words":false}"#
        let odd = #"{"version":1,"items":[\#(event)],"failures":0,"held":false,"settled":false}"#
        let settings = ["notice:a": Array(text.utf8), "notice:b": Array(odd.utf8)]
        #expect(NoticeRecord.restored(settings, at: Notices.Time(.zero, wall: 0)).isEmpty)
    }
}
