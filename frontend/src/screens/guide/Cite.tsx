import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";
/** Where the words for a paper come from. */
export function Cite() {
  return (
    <>
      <p>
        {t(
          "Each study that is done has two files under Results for this. They are made from the plan and the numbers of the run, so they say what was done:",
        )}
      </p>
      <ul>
        <li>
          <Rich text="The file that ends in <code>methods.txt</code>: the methods section. It names the test and its options, people and variants, filters, cohorts, how the data were protected, the date, and program and version. Take it as it is, and change its style, not its numbers." />
        </li>
        <li>
          <Rich text="The one that ends in <code>manifest.json</code>: plan and plan hash, versions, cohorts, dates, traffic, and the SHA-256 of every result file. Put it into the supplement, so that others can tell whether they have the same files." />
        </li>
        <li>
          <Rich text="The one that ends in <code>report.html</code>: all of it on one page, with the plots, to send to whoever asks. Every cohort has the same." />
        </li>
      </ul>
      <p>
        {t(
          "Name the cohorts with their own references, and say who ran the server and who the compensator. For the GWAS Catalog choose the file GWAS-SSF in the plan; it comes with its metadata.",
        )}
      </p>
    </>
  );
}
