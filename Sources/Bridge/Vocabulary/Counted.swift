/// A number with its noun, such as `1 turn` and `2 turns`.
package enum Counted {
    package static func words(_ number: Int, _ noun: String, plural: String? = nil) -> String {
        "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
    }
}
