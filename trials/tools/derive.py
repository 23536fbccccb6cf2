"""derive.py BASE BRANCH: prints JSON of renames/moves of top-level names between two commits: {"mod.old": "mod2.new"}."""
import ast,subprocess,sys,json,difflib,re
from pathlib import Path
base,branch=sys.argv[1:3]
def sh(*a): return subprocess.run(a,capture_output=True,text=True).stdout
def modules(c):
    out={}
    for f in sh("git","ls-tree","-r","--name-only",c,"src/wengert").split():
        if f.endswith(".py"): out[f]=None
    return out
def mod(f):
    m=f[4:-3].replace("/",".")
    return m[:-9] if m.endswith(".__init__") else m
def defs(c,files):
    out={}
    p=subprocess.Popen(["git","cat-file","--batch"],stdin=subprocess.PIPE,stdout=subprocess.PIPE)
    for f in files:
        p.stdin.write(f"{c}:{f}\n".encode()); p.stdin.flush()
        head=p.stdout.readline().split(); n=int(head[2]); text=p.stdout.read(n).decode(); p.stdout.read(1)
        try: tree=ast.parse(text)
        except SyntaxError: continue
        for n_ in tree.body:
            names=[]
            if isinstance(n_,(ast.FunctionDef,ast.ClassDef)): names=[n_.name]
            elif isinstance(n_,ast.Assign): names=[t.id for t in n_.targets if isinstance(t,ast.Name)]
            elif isinstance(n_,ast.AnnAssign) and isinstance(n_.target,ast.Name): names=[n_.target.id]
            for nm in names:
                if isinstance(n_,(ast.FunctionDef,ast.ClassDef)):
                    body=[x for x in n_.body if not (isinstance(x,ast.Expr) and isinstance(x.value,ast.Constant))]
                    src=ast.unparse(ast.Module(body,[]))
                    kind="C" if isinstance(n_,ast.ClassDef) else "F"
                    if kind=="F": src=ast.unparse(n_.args)+"\n"+src
                else: src=ast.unparse(n_.value) if n_.value else ""; kind="V"
                out[(mod(f),nm)]=(kind,src,getattr(n_,"lineno",0))
    return out
A=defs(base,modules(base)); B=defs(branch,modules(branch))
gone=[k for k in A if k not in B]; new=[k for k in B if k not in A]
renames={}
# git renames of files
moved={}
for line in sh("git","diff","-M40","--name-status","--diff-filter=R",base,branch,"--","src/wengert").splitlines():
    s,a,b=line.split("\t"); moved[mod(a)]=mod(b)
cand=[]
for g in gone:
    for n in new:
        if A[g][0]!=B[n][0]: continue
        same=moved.get(g[0],g[0])==n[0]
        if g[1]==n[1]: score=0.9+ (0.1 if same else 0)
        else:
            a,b=A[g][1],B[n][1]
            if not same and abs(len(a)-len(b))>0.5*max(len(a),len(b),1): continue
            m=difflib.SequenceMatcher(None,a,b,autojunk=False)
            if m.real_quick_ratio()<0.5 or m.quick_ratio()<0.5: continue
            score=m.ratio()*(1.0 if same else 0.85)
        if score>0.55: cand.append((score,g,n))
usedn=set()
for s,g,n in sorted(cand,reverse=True):
    k=".".join(g)
    if k in renames or n in usedn: continue
    renames[k]=".".join(n); usedn.add(n)
json.dump({"renames":renames,"modules":moved,"lost":[".".join(g) for g in gone if ".".join(g) not in renames]},sys.stdout,indent=1)
