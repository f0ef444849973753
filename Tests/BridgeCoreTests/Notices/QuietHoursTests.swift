import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Quiet hours")
struct QuietHoursTests {
    @Test("two different hours of the day", arguments: ["22:00-07:00", "00:00-23:59", "09:30-17:05"])
    func good(text: String) { #expect(QuietHours(text)?.description == text) }

    @Test(
        "anything else is none",
        arguments: [
            "", "22:00", "22-7", "22:00-22:00", "24:00-07:00", "22:60-07:00", "2:00-07:00", "22:00-07:00-08:00",
            "22:00 - 07:00", "٢٢:00-07:00",
        ])
    func bad(text: String) { #expect(QuietHours(text) == nil) }

    @Test("over midnight, and within a day")
    func within() throws {
        let night = try #require(QuietHours("22:00-07:00"))
        #expect(night.left(atSecondOfDay: 22 * 3_600) == .seconds(9 * 3_600))
        #expect(night.left(atSecondOfDay: 0) == .seconds(7 * 3_600))
        #expect(night.left(atSecondOfDay: 7 * 3_600 - 1) == .seconds(1))
        #expect(night.left(atSecondOfDay: 7 * 3_600) == nil && night.left(atSecondOfDay: 22 * 3_600 - 1) == nil)
        let noon = try #require(QuietHours("12:00-13:00"))
        #expect(noon.left(atSecondOfDay: 12 * 3_600 + 60) == .seconds(3_540))
        #expect(noon.left(atSecondOfDay: 13 * 3_600) == nil && noon.left(atSecondOfDay: 0) == nil)
    }

    /// This hour of the zone at the moment `now`.
    private static func hour(_ hour: Int64, east: Int64 = 3_600, at now: Instant) -> LocalTime {
        LocalTime(
            wallSeconds: 1_800_000_000 / 86_400 * 86_400 + hour * 3_600 - east, secondsEast: east, zone: "CET", at: now)
    }

    private static func night(at hour: Int64) -> NoticeStage {
        var stage = NoticeStage { $0.quiet = QuietHours("22:00-07:00") }
        stage.tell { machine, time in machine.use(localTime: Self.hour(hour, at: time.instant), at: time) }
        return stage
    }

    @Test("only what failed or waits is sent, after them, in one notice")
    func gathers() {
        var stage = Self.night(at: 23)
        for (turn, outcome) in [("t1", TurnOutcome.failed), ("t2", .answered), ("t3", .failed)] {
            stage.begins(turn, chat: turn)
            stage.wait(60)
            stage.ends(turn, outcome)
        }
        stage.asks("a", of: "t4", chat: "c4")
        stage.wait(6 * 3_600)
        #expect(stage.attempts.isEmpty && stage.kept.count == 2)
        stage.wait(2 * 3_600)
        #expect(stage.attempts.count == 1 && stage.attempts[0].items.count == 3)
        let body = stage.body(stage.attempts[0])
        #expect(
            body.contains(#""event":"waiting""#) && body.contains(#""message":"1 ask waits for you. 2 runs failed.""#))
        #expect(body.contains(#""priority":4,"count":3,"ids":["#) && !body.contains("Fix the tests"))
        stage.recipient()
        stage.wait(3_600)
        #expect(stage.attempts.count == 1 && stage.kept.values.map(\.items.count) == [1])
        stage.answered("a")
        #expect(stage.kept.isEmpty)
        // Each notice goes by itself again by day.
        stage.begins("t5")
        stage.ends("t5", .failed)
        stage.recipient()
        #expect(stage.attempts.count == 2 && stage.attempts[1].items.count == 1)
    }

    @Test("what was answered in the night is left out, and one thing alone is an ordinary notice")
    func answeredMeanwhile() {
        var stage = Self.night(at: 23)
        stage.asks("a", of: "t1")
        stage.asks("b", of: "t1")
        stage.wait(3_600)
        stage.answered("a")
        stage.wait(9 * 3_600)
        #expect(stage.attempts.count == 1 && stage.body(stage.attempts[0]).contains(#""wants":"rm -rf build""#))
    }

    @Test("a person who comes in the night sees what failed")
    func comes() {
        var stage = Self.night(at: 23)
        stage.begins("t1")
        stage.ends("t1", .failed)
        stage.wait(3_600)
        stage.acts()
        stage.wait(9 * 3_600)
        #expect(stage.attempts.isEmpty && stage.kept.isEmpty)
    }

    @Test("a notice that waits for a try when they begin is held, and an end is dropped")
    func begin() {
        var stage = Self.night(at: 21)
        stage.wait(3_595)
        for (turn, outcome) in [("t1", TurnOutcome.failed), ("t2", .answered)] {
            stage.begins(turn, chat: turn)
            if outcome == .answered { stage.tell { machine, _ in machine.turns[TurnID(turn)]?.at = .zero } }
            stage.ends(turn, outcome)
            stage.refuses()
        }
        #expect(stage.attempts.count == 2)
        stage.wait(8 * 3_600)
        #expect(stage.attempts.count == 2 && stage.machine.figures == NoticeFigures(told: 0, dropped: 1, waiting: 1))
        stage.wait(2 * 3_600)
        #expect(stage.attempts.count == 3 && stage.attempts[2].items[0].turn.text == "t1")
    }

    @Test("kept over a restart in the night, and behind their end, as one")
    func restart() {
        for hours in [1, 12] {
            var stage = Self.night(at: 23)
            stage.begins("t1")
            stage.ends("t1", .failed)
            stage.asks("a", of: "t2", chat: "c2")
            stage.wait(600)
            let quiet = stage.machine.settings
            stage.restarts(after: Int64(hours) * 3_600) { Self.hour(23 + Int64(hours), at: $0) }
            #expect(stage.machine.settings == quiet)
            stage.wait(12 * 3_600)
            #expect(stage.attempts.first?.items.count == 2, "after \(hours) hours")
        }
    }

    @Test("they end by the clock on the wall, which daylight saving has moved meanwhile")
    func daylightSaving() {
        var stage = Self.night(at: 23)
        stage.begins("t1")
        stage.ends("t1", .failed)
        stage.wait(4 * 3_600)
        // At three the clock shows four, so seven comes an hour sooner.
        stage.tell { machine, time in machine.use(localTime: Self.hour(4, east: 7_200, at: time.instant), at: time) }
        stage.wait(3 * 3_600 - 1)
        #expect(stage.attempts.isEmpty)
        stage.wait(1)
        #expect(stage.attempts.count == 1)
    }
}
