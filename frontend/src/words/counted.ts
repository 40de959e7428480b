/** How many there are of something, to stand in a sentence. */
import { plural } from "./language";

export const variants = (n: number): string => plural(n, "{{n}} variant", "{{n}} variants");

export const chromosomes = (n: number): string => plural(n, "{{n}} chromosome", "{{n}} chromosomes");

export const loci = (n: number): string => plural(n, "{{n}} locus", "{{n}} loci");

export const genes = (n: number): string => plural(n, "{{n}} gene", "{{n}} genes");
