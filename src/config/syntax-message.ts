// The JSON parser's error codes in words that say what to write.
import { type ParseErrorCode, printParseErrorCode } from "jsonc-parser";

export function syntaxMessage(code: ParseErrorCode, found: string): string {
  const name = printParseErrorCode(code);
  switch (name) {
    case "InvalidSymbol":
      return `${shown(found)} is no JSON value; texts stand in double quotes`;
    case "InvalidNumberFormat":
    case "UnexpectedEndOfNumber":
      return `${shown(found)} is no JSON number`;
    case "PropertyNameExpected":
      return 'expected a key in double quotes, or "}"';
    case "ValueExpected":
      return "expected a value";
    case "ColonExpected":
      return 'expected ":" after the key';
    case "CommaExpected":
      return 'expected ","';
    case "CloseBraceExpected":
      return 'expected "}"';
    case "CloseBracketExpected":
      return 'expected "]"';
    case "EndOfFileExpected":
      return "expected the end of the file: one object is all it may hold";
    case "InvalidCommentToken":
    case "UnexpectedEndOfComment":
      return "this comment never ends";
    case "UnexpectedEndOfString":
      return 'this text never ends: the closing " is missing';
    case "InvalidUnicode":
      return "a \\u escape takes four hexadecimal digits";
    case "InvalidEscapeCharacter":
      return "unknown escape after \\; write \\\\ for a backslash";
    case "InvalidCharacter":
      return "control characters in texts are written as escapes, such as \\n or \\t";
    case "<unknown ParseErrorCode>":
      return "this is not JSON";
  }
}

function shown(found: string): string {
  return JSON.stringify(found.length > 40 ? `${found.slice(0, 40)}…` : found);
}
