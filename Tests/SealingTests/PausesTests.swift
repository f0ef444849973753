import Testing
import Vocabulary

@testable import Sealing

@Suite("Pauses between calls for devices")
struct PausesTests {
    private static let now = Instant.zero + .seconds(100)
    private static let expected = [1, 2, 4, 8, 16, 32, 60, 60].map { Duration.seconds($0) }

    @Test("grants that fail are tried ever later, until one is delivered or the link is new")
    func grants() {
        var grants = GrantQueue()
        grants.linkUp(at: Self.now)
        func pause(_ told: Duration? = nil) -> Duration? {
            grants.failed(told, at: Self.now)
            return grants.retryAt.map { $0 - Self.now }
        }
        #expect((0..<8).map { _ in pause() } == Self.expected)
        grants.delivered()
        #expect(pause(.seconds(90)) == .seconds(90) && pause() == .seconds(2))
        grants.linkUp(at: Self.now)
        #expect(pause() == .seconds(1))
    }

    @Test("a link that is lost and found again gives no more calls than the rate")
    func flapping() {
        var grants = GrantQueue()
        func begin(at now: Instant) -> Bool {
            guard grants.mayBegin(at: now) else { return false }
            let number = grants.began(.init(session: SessionID("s"), devices: [], key: KeyName("k")), at: now)
            return grants.answered(number) != nil
        }
        var begun = 0
        for _ in 0..<100 {
            grants.linkUp(at: Self.now)
            if begin(at: Self.now) { begun += 1 }
            grants.linkDown()
        }
        #expect(begun == 10)
        grants.linkUp(at: Self.now + .seconds(1))
        #expect(begin(at: Self.now + .seconds(1)))
    }

    @Test("a registration that fails is tried ever later, until the link is new")
    func registration() {
        var registration = Registration(deviceID: nil)
        func pause(_ told: Duration? = nil) -> Duration? {
            registration.begin()
            registration.failed(told, at: Self.now)
            return registration.retryAt.map { $0 - Self.now }
        }
        #expect((0..<8).map { _ in pause() } == Self.expected)
        registration.linkDown()
        #expect(pause(.seconds(90)) == .seconds(90) && pause() == .seconds(2))
    }
}
