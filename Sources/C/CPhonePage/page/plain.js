// Markdown as one line of plain words, for previews. No expression here can match in two ways.

const MARKS = [
  // Links and pictures are reduced to their names.
  [/!?\[([^[\]\n]{0,400})\]\([^()\s]{0,2000}\)/g, "$1"],
  [/^[ \t]{0,3}(?:#{1,6}|>|[-+*])[ \t]+/gm, ""],
  [/^[ \t|:-]{3,400}$/gm, ""],
  [/~~|\*\*|__|`+|(?<![\p{L}\p{N}])[*_](?=\S)|(?<=\S)[*_](?![\p{L}\p{N}])/gu, ""],
  [/\|/g, " "],
  [/\s+/g, " "],
];

export function plainLine(text) {
  return MARKS.reduce((line, [mark, instead]) => line.replace(mark, instead), text).trim();
}
