/// Puts numbers that no honest peer sends in the place of a frame's own.
/// A frame is text: this finds its numbers without a parser of the bridge and replaces them digit by digit.
package enum HostileNumbers {
    /// The ends of 64 bits and their neighbours, doubles that no integer holds, and values that are neither counts
    /// nor times.
    package static let all = [
        "9223372036854775807", "-9223372036854775808", "9223372036854775806", "18446744073709551615",
        "9007199254740993", "1e308", "-1e308", "1e19", "0.5", "-0.0", "-1", "1e-320", "0", "253402300800000",
    ]

    /// Copies of the frame, each with one number replaced by one hostile number.
    package static func variants(of frame: [UInt8]) -> [[UInt8]] {
        numbers(in: frame).flatMap { place in
            all.map { Array(frame[..<place.lowerBound]) + Array($0.utf8) + Array(frame[place.upperBound...]) }
        }
    }

    /// The frame with every number replaced by the same hostile one.
    package static func replacingAll(in frame: [UInt8], with number: String) -> [UInt8] {
        var result: [UInt8] = []
        var copied = 0
        for place in numbers(in: frame) {
            result += frame[copied..<place.lowerBound]
            result += Array(number.utf8)
            copied = place.upperBound
        }
        return result + frame[copied...]
    }

    /// Places of numbers outside strings.
    package static func numbers(in frame: [UInt8]) -> [Range<Int>] {
        var places: [Range<Int>] = []
        var position = 0
        var isInString = false
        while position < frame.count {
            let byte = frame[position]
            if isInString {
                if byte == UInt8(ascii: "\\") { position += 1 }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte == UInt8(ascii: "-") || (48...57).contains(byte) {
                let start = position
                while position < frame.count, isPartOfNumber(frame[position]) { position += 1 }
                places.append(start..<position)
                continue
            }
            position += 1
        }
        return places
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || "+-.eE".utf8.contains(byte)
    }
}
