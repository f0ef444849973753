import FoundationEssentials
import Glibc
import Recording

/// Baseline of the first row: the same frames through `JSONDecoder`, into a type with the fields that our decoder picks.
enum Decoding {
    private struct Frame: Decodable {
        struct Payload: Decodable {
            struct Message: Decodable {
                struct Block: Decodable {
                    var type: String
                    var text: String?
                }
                var content: [Block]
            }
            var runId: String?
            var sessionKey: String?
            var seq: Int?
            var state: String?
            var deltaText: String?
            var replace: Bool?
            var message: Message?
            var stream: String?
        }
        var type: String
        var event: String?
        var payload: Payload?
    }

    /// Prints the number of frames, their mean size, and the CPU seconds of decoding without those of reading the file.
    static func run(file: String) throws {
        let reader = try RecordingReader(file: file)
        let decoder = JSONDecoder()
        var frames = 0
        var bytes = 0
        var seconds = 0.0
        while let entry = try reader.next() {
            let data = Data(entry.frame)
            let begin = cpu()
            let frame = try decoder.decode(Frame.self, from: data)
            seconds += cpu() - begin
            frames += frame.type.isEmpty ? 0 : 1
            bytes += data.count
        }
        print(frames, bytes / max(frames, 1), seconds)
    }

    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
