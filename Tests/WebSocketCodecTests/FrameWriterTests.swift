import Testing
import WebSocketCodec

@Suite struct FrameWriterTests {
    @Test(arguments: [0, 1, 125, 126, 4_096, 65_535, 65_536, 300_000])
    func aServersFrameIsHeaderAndPayload(size: Int) {
        let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        var frames: [UInt8] = []
        FrameWriter(makeMask: nil).append(.binary, payload, to: &frames)
        #expect(frames == Raw.frame(2, payload))
    }

    @Test(arguments: [0, 1, 125, 126, 4_097, 65_536, 300_000])
    func aClientsFrameIsMaskedWithTheMaskItIsGiven(size: Int) {
        let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        var frames: [UInt8] = [42]
        FrameWriter(makeMask: { UInt32(littleEndian: 0x0403_0201) }).append(.text, payload, to: &frames)
        #expect(frames == [42] + Raw.frame(1, payload, mask: [1, 2, 3, 4]))
    }

    @Test func eachFrameHasAMaskOfItsOwn() {
        var count: UInt32 = 0
        let writer = FrameWriter(makeMask: {
            count += 1
            return count.littleEndian
        })
        var frames: [UInt8] = []
        writer.append(.ping, [9], to: &frames)
        writer.append(.pong, [9], to: &frames)
        #expect(frames == Raw.frame(9, [9], mask: [1, 0, 0, 0]) + Raw.frame(10, [9], mask: [2, 0, 0, 0]))
    }

    @Test func fragmentsAreMarked() {
        let writer = FrameWriter(makeMask: nil)
        var frames: [UInt8] = []
        writer.append(.text, [97], isLast: false, to: &frames)
        writer.append(.text, [98], continues: true, to: &frames)
        #expect(frames == Raw.text("a", isLast: false) + Raw.frame(0, [98]))
    }
}
