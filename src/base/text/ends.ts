// A text without certain characters at its end. A pattern such as `[.,]+$` begins anew at each of them: its time grows with
// the square of a long run in the middle, and texts come from clients, servers and files.

export function withoutFinal(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
