// Whether one path lies in another. Both must be real paths: names alone say nothing where there are links.
import { isAbsolute, relative, sep } from "node:path";

export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
