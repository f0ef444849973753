import Testing
import Vocabulary

@Suite("Back-off")
struct BackOffTests {
    @Test("the first pauses are as given, and each later one a multiple up to the longest")
    func growth() {
        var backOff = BackOff(first: .milliseconds(250), .milliseconds(750), .seconds(2), longest: .seconds(5))
        #expect((0..<5).map { _ in backOff.next() } == [250, 750, 2_000, 4_000, 5_000].map { .milliseconds($0) })
        #expect(backOff.failures == 5)
        backOff.succeeded()
        #expect(backOff.next() == .milliseconds(250))
        #expect(BackOff(first: .seconds(2), factor: 4, longest: .seconds(32)).pause(after: 3) == .seconds(32))
        #expect(backOff.pause(after: .max) == .seconds(5) && backOff.pause(after: 0) == .milliseconds(250))
    }

    @Test("jitter is the share that is waited, and the same random numbers give the same pauses")
    func jitter() {
        var (one, other) = (BackOff.link, BackOff.link)
        var (random, again) = (SeededGenerator(seed: 7), SeededGenerator(seed: 7))
        for seconds in [1.0, 2, 4, 8, 16, 30, 30] {
            let pause = one.next(using: &random)
            #expect(pause >= .seconds(seconds * 0.75) && pause <= .seconds(seconds * 1.25))
            #expect(other.next(using: &again) == pause)
        }
    }

    @Test("a person's pauses grow on to five minutes, and never beyond")
    func person() {
        var (backOff, random) = (BackOff.link, SeededGenerator(seed: 7))
        for seconds in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let pause = backOff.nextForPerson(using: &random)
            #expect(pause >= .seconds(seconds * 0.75) && pause <= .seconds(min(seconds * 1.25, 300)))
        }
    }
}
