import Crypto
import Glibc
import Sealing
import Vocabulary

/// Cost of sealing a piece of text for the phone: from the call as a value to its member in base64.
enum SealingBench {
    /// Prints nanoseconds of CPU for each piece.
    static func deltas(count: Int) throws {
        let library = try OpenSSLSealing()
        guard let key = SecretKey(library.bytes(SecretKey.length)) else { return }
        let sealer = SessionSealer(SessionID("ses_1"), key: key, library: library)
        let call = RelayCall(
            .text(String(repeating: "x", count: 200)), to: .bubble(MessageID("msg_1")), key: IdempotencyKey("key"))
        let begun = cpuNanoseconds
        var length = 0
        for _ in 0..<count { length += sealer.content(of: call, random: library)?.members[0].sealed.utf8.count ?? 0 }
        let spent = cpuNanoseconds - begun
        // The envelope has 229 bytes, which are 308 characters of base64.
        guard length == count * 308 else { return print("a member of another length") }
        print(Double(spent) / Double(count))
    }

    private static var cpuNanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
