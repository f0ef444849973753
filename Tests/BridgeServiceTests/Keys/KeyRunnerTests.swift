import BridgeService
import Crypto
import Locking
import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys on its edges")
struct KeyRunnerTests {
    /// Records every effect of the runner, one line each, and plays the outside on order.
    private final class Outside: HTTPClient, Clock, Alarm {
        struct State {
            var lines: [String] = []
            var now = Instant.zero
            var answers: [@Sendable (Result<HTTPResponse, HTTPFailure>) -> Void] = []
            var saves: [@Sendable (Bool) -> Void] = []
            var ring: (@Sendable () -> Void)?
            var hasRelay = true
        }

        let state = Locked(State())

        var now: Instant { state.withLock { $0.now } }
        var wallMilliseconds: Int64 { 1_770_000_000_000 }

        func send(
            _ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
        ) {
            state.withLock { state in
                state.lines.append("POST \(request.url)")
                state.answers.append(completion)
            }
        }

        func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
            state.withLock { $0.ring = moment == nil ? nil : ring }
        }

        func stop() {}

        func save(_ stored: StoredKeyRing, done: @escaping @Sendable (Bool) -> Void) {
            state.withLock { state in
                state.lines.append("save \(stored.keys.keys.keys.sorted().joined(separator: ","))")
                state.saves.append(done)
            }
        }

        func heard(_ order: KeyRingOrder) {
            state.withLock { state in
                switch order {
                case .acknowledge(let update): state.lines.append("acknowledge \(update)")
                case .letGo(let update): state.lines.append("let go \(update)")
                case .keyReady(let session, _): state.lines.append("ready \(session)")
                case .chatGranted(let session): state.lines.append("granted \(session)")
                case .tell(let news): state.lines.append("tell \(news)")
                case .save, .register, .grant: state.lines.append("not ours")
                }
            }
        }

        func take() -> [String] {
            state.withLock { state in
                defer { state.lines = [] }
                return state.lines
            }
        }

        func answer(_ status: Int, _ body: String) {
            let completion = state.withLock { $0.answers.removeFirst() }
            completion(.success(HTTPResponse(status: status, body: Array(body.utf8))))
        }

        func saved(_ isSaved: Bool = true) {
            let done = state.withLock { $0.saves.removeFirst() }
            done(isSaved)
        }

        func pass(_ duration: Duration) {
            let ring = state.withLock { state in
                state.now = state.now + duration
                defer { state.ring = nil }
                return state.ring
            }
            ring?()
        }
    }

    private let outside = Outside()
    private let library: OpenSSLSealing
    private let runner: KeyRunner
    private static let relay = "http://127.0.0.1:1"

    init() throws {
        let outside = outside
        library = try OpenSSLSealing()
        let secret = try #require(SecretKey([UInt8](repeating: 200, count: 32)))
        let ring = try KeyRing(device: secret, library: library)
        let edges = KeyRunner.Edges(
            http: outside, clock: outside, alarm: outside, secrets: library,
            relay: {
                outside.state.withLock { $0.hasRelay } ? RelayAddress(baseURL: Self.relay, token: "t") : nil
            }, save: { outside.save($0, done: $1) })
        runner = KeyRunner(ring, edges: edges) { outside.heard($0) }
    }

    private func device(_ number: UInt8) throws -> DeviceBook.Device {
        let secret = try #require(SecretKey([UInt8](repeating: number, count: 32)))
        return DeviceBook.Device(id: DeviceID("phone-\(number)"), publicKey: library.publicKey(of: secret))
    }

    private func register() {
        runner.tell { ring, now, secrets in ring.linkUp(at: now, using: secrets) }
        outside.answer(200, #"{"ok":true,"result":{"device_id":"b"}}"#)
        outside.saved()
        _ = outside.take()
    }

    @Test("the bridge makes itself known, and again after the relay was in trouble")
    func registration() {
        runner.tell { ring, now, secrets in ring.linkUp(at: now, using: secrets) }
        #expect(outside.take() == ["POST \(Self.relay)/v1/bridge/devices"])
        outside.answer(502, "<html>")
        #expect(outside.take() == [])
        outside.pass(.seconds(1))
        #expect(outside.take() == ["POST \(Self.relay)/v1/bridge/devices"])
        outside.answer(200, #"{"ok":true,"result":{"device_id":"b","pubkey_changed":true}}"#)
        #expect(outside.take() == ["tell registeredAnew", "save "])
        #expect(runner.ask { $0.deviceID } == DeviceID("b"))
    }

    @Test("a key goes from its grant to the disk, to the acknowledgement, and to another device")
    func key() throws {
        register()
        let phone = try device(1)
        runner.tell { ring, now, secrets in
            ring.deviceAnnounced(phone, UpdateID("1"), wall: 0, at: now, using: secrets)
        }
        #expect(outside.take() == ["tell devicePinned(phone-1)", "save "])
        outside.saved()
        #expect(outside.take() == ["acknowledge 1"])
        runner.tell { ring, now, secrets in
            _ = ring.makeKey(for: SessionID("ses_1"), at: now, using: secrets)
        }
        #expect(outside.take() == ["save ses_1"])
        outside.saved()
        #expect(outside.take() == ["ready ses_1", "POST \(Self.relay)/v1/bridge/sessions/ses_1/recipients"])
        outside.answer(200, #"{"ok":true,"result":{}}"#)
        #expect(outside.take() == ["granted ses_1"])
        outside.pass(.seconds(5))
        #expect(outside.take() == ["save ses_1"])
    }

    @Test("a disk that cannot keep a key has its update sent again, and is tried again")
    func fullDisk() throws {
        register()
        let publicKey = library.publicKey(of: try #require(SecretKey([UInt8](repeating: 200, count: 32))))
        let key = try #require(SecretKey([UInt8](repeating: 9, count: 32)))
        let wrapped = Base64.encode(
            try SealedBox.seal(key, for: publicKey, library: library, random: library))
        runner.tell { ring, now, _ in
            ring.keyGranted(SessionID("ses_1"), for: DeviceID("b"), wrapped: wrapped, UpdateID("7"), wall: 0, at: now)
        }
        #expect(outside.take() == ["save ses_1"])
        outside.saved(false)
        #expect(outside.take() == ["let go 7", "tell notSaved"])
        outside.pass(.seconds(5))
        #expect(outside.take() == ["save ses_1"])
        outside.saved()
        #expect(outside.take() == ["ready ses_1"])
    }

    @Test("without a token nothing is posted, and it is tried again")
    func noToken() {
        outside.state.withLock { $0.hasRelay = false }
        runner.tell { ring, now, secrets in ring.linkUp(at: now, using: secrets) }
        #expect(outside.take() == [])
        outside.state.withLock { $0.hasRelay = true }
        outside.pass(.seconds(1))
        #expect(outside.take() == ["POST \(Self.relay)/v1/bridge/devices"])
    }

    @Test("a chat whose name would lead elsewhere is granted to nobody")
    func wildName() throws {
        register()
        let phone = try device(1)
        runner.tell { ring, now, secrets in
            ring.deviceAnnounced(phone, UpdateID("1"), wall: 0, at: now, using: secrets)
        }
        outside.saved()
        runner.tell { ring, now, secrets in
            _ = ring.makeKey(for: SessionID("../x"), at: now, using: secrets)
        }
        outside.saved()
        #expect(!outside.take().contains { $0.hasPrefix("POST") })
    }
}
