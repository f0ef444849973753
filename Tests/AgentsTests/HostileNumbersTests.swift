import Glibc
import JSONReading
import OpenClaw
import Recording
import Testing
import Vocabulary
import Worlds

@Suite("Numbers that no honest agent sends")
struct HostileNumbersTests {
    @Test("each number of each recorded frame may be any number", arguments: Trace.names)
    func oneAtATime(name: String) throws {
        let trace = try Trace(name)
        var isTried = false
        for (index, frame) in trace.frames.enumerated() where frame.direction == .incoming {
            for hostile in HostileNumbers.variants(of: frame.bytes) {
                isTried = true
                // Earlier frames bring the decoder into the state in which the number counts, and later ones add to
                // it.
                var observer = try trace.observer()
                for earlier in trace.frames[..<index].suffix(6) { observer.take(earlier) }
                observer.take(Trace.Frame(at: frame.at, direction: frame.direction, bytes: hostile))
                for later in trace.frames[index...].prefix(4) { observer.take(later) }
                _ = observer.finish()
            }
        }
        #expect(isTried || name.hasPrefix("pi"))
    }

    @Test("all numbers of a conversation may be the same hostile one", arguments: Trace.names, HostileNumbers.all)
    func allAtOnce(name: String, number: String) throws {
        let trace = try Trace(name)
        var observer = try trace.observer()
        for frame in trace.frames {
            let bytes = HostileNumbers.replacingAll(in: frame.bytes, with: number)
            observer.take(Trace.Frame(at: frame.at, direction: frame.direction, bytes: bytes))
        }
        #expect(observer.finish().count >= 0)
    }

    @Test("a live session outlives each number in each frame of the gateway", arguments: HostileNumbers.all)
    func session(number: String) throws {
        let names = Trace.names.filter { $0.hasPrefix("openclaw") }
        for name in names {
            let talk = OpenClawConversation()
            talk.goLive()
            talk.adopt(secondsAgo: 1, .accepted)
            for frame in try Trace(name).frames where frame.direction == .incoming {
                let hostile = HostileNumbers.replacingAll(in: frame.bytes, with: number)
                talk.receive(String(decoding: hostile, as: UTF8.self))
                talk.receive(String(decoding: frame.bytes, as: UTF8.self))
            }
            talk.pass(120)
            talk.close(1012)
            talk.pass(60)
        }
    }

    @Test("a greeting and a refusal may hold any number", arguments: HostileNumbers.all)
    func greeting(number: String) {
        let talk = OpenClawConversation()
        talk.start()
        talk.open()
        talk.event("connect.challenge", #"{"nonce":"n","ts":\#(number)}"#)
        let hello = HostileNumbers.replacingAll(in: Array(talk.hello.utf8), with: number)
        talk.answer("connect", String(decoding: hello, as: UTF8.self))
        talk.pass(70)
        let refused = OpenClawConversation()
        refused.start()
        refused.open()
        refused.challenge()
        refused.answer(
            "connect", nil,
            error: #"{"code":"UNAVAILABLE","retryAfterMs":\#(number),"details":{"expectedProtocol":\#(number)}}"#)
        refused.pass(700)
    }

    @Test("after a sequence of 2^63 - 1 the gaps of the next frames are still seen")
    func sequence() {
        let talk = OpenClawConversation()
        talk.goLive()
        talk.event("tick", "{}", seq: 4)
        talk.event("tick", "{}", seq: .max)
        talk.event("tick", "{}", seq: 5)
        #expect(!talk.notes.contains { if case .framesLost = $0 { true } else { false } })
        talk.event("tick", "{}", seq: 8)
        #expect(talk.notes.contains(.framesLost(2)))
    }

    @Test("a number is read within its range or not at all")
    func ranges() throws {
        let bytes = Array(#"{"a":9223372036854775807,"b":-3,"c":0.5,"d":1e308,"e":7}"#.utf8)
        let parser = FrameParser()
        bytes.withUnsafeBytes { frame in
            let root = parser.parse(frame, capacity: frame.count)
            #expect(root?["a"]?.integer(in: .counts) == nil)
            #expect(root?["a"]?.integer(clampedTo: 0...9) == 9)
            #expect(root?["b"]?.integer(in: .counts) == nil)
            #expect(root?["b"]?.integer(clampedTo: 0...9) == 0)
            #expect(root?["c"]?.integer(clampedTo: 0...9) == nil)
            #expect(root?["d"]?.number(in: Usage.costs) == nil)
            #expect(root?["e"]?.integer(in: .counts) == 7)
            #expect(root?["e"]?.number(in: 0...7) == 7)
        }
    }
}

@Suite("Large arrays")
struct LargeArrayTests {
    private static func parts(_ count: Int) -> [UInt8] {
        Array(("[" + (0..<count).map { _ in #"{},"# }.joined() + "7]").utf8)
    }

    /// Processor time of this thread alone: other tests run beside it.
    private static func seconds(_ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        return (0..<3).map { _ in
            let start = now()
            body()
            return now() - start
        }.min() ?? 0
    }

    @Test("an array is read in time that grows with its length, not with its square")
    func linear() {
        func time(_ count: Int) -> Double {
            let bytes = Self.parts(count)
            let parser = FrameParser()
            return Self.seconds {
                bytes.withUnsafeBytes { frame in
                    let elements = parser.parse(frame, capacity: frame.count)?.elements
                    #expect(elements?.count == min(count + 1, 100_000))
                    #expect(elements?.first?.isObject == true)
                }
            }
        }
        // Sixteen times the elements would take 256 times as long if each search began at the front.
        #expect(time(96_000) < 80 * time(6_000))
    }

    @Test("what has no elements has none")
    func others() {
        for text in ["{}", "7", "[]", "\"a\""] {
            let bytes = Array(text.utf8)
            let parser = FrameParser()
            bytes.withUnsafeBytes { #expect(parser.parse($0, capacity: $0.count)?.elements.isEmpty == true) }
        }
    }
}
