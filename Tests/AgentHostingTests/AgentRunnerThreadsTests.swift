import AgentKit
import OSThreads
import Testing
import Vocabulary
import WireTesting

@Suite("The host under several threads")
struct AgentRunnerThreadsTests {
    private static let threads = 4
    private static let frames = 400

    @Test("each channel's frames are answered in order and once, whichever threads bring them")
    func channels() {
        let stage = Stage()
        let channels = (1...Self.threads).map { ChannelID($0) }
        for channel in channels { stage.order(.open(channel, Stage.socket)) }
        for channel in channels {
            for number in 0..<Self.frames {
                stage.answers("\(channel.number): \(number)", .send(channel, Array("\(number)".utf8)))
            }
        }
        let (done, link) = (Signal(), stage.link)
        for (index, handler) in stage.sockets.handlers.enumerated() {
            let began = startThread {
                for number in 0..<Self.frames {
                    handler(.text(Array("\(number)".utf8)))
                    if number % 50 == index { link.holdReading(number % 100 < 50) }
                }
                done.raise()
            }
            #expect(began)
        }
        #expect(done.wait(times: Self.threads))
        stage.link.holdReading(false)
        for socket in stage.sockets.links {
            #expect(socket.log.filter { $0.hasPrefix("send") } == (0..<Self.frames).map { "send \($0)" })
        }
        #expect(stage.link.heldBytes == 0)
    }

    @Test("works that end on other threads are answered once each")
    func works() {
        let stage = Stage()
        for number in 0..<16 { stage.order(.work(WorkID(number), .find(pattern: "/x", limit: 1))) }
        let done = Signal()
        let open = stage.works.open
        for _ in 0..<Self.threads {
            let began = startThread {
                for completion in open { completion(.found([])) }
                done.raise()
            }
            #expect(began)
        }
        #expect(done.wait(times: Self.threads))
        #expect(stage.told.filter { $0.hasPrefix("work") }.count == 16)
    }
}
