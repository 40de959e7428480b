/** The gene that a variant lies in, or the nearest with its distance. */
import { span } from "../../../words/genetics";

export const GeneNearby = ({ gene, gene_distance }: { gene: string; gene_distance: number | null }) => (
  <>
    <i>{gene}</i>
    {gene_distance ? ` +${span(gene_distance)}` : ""}
  </>
);
